# The MPI half of the library and the programs that need it.
file(GLOB NEARFAR_MPI_SOURCES CONFIGURE_DEPENDS mpi/contention/contention*.cpp)
add_library(nearfar_mpi STATIC
  ${NEARFAR_MPI_SOURCES} mpi/agreed_window.cpp mpi/contention/data_mover.cpp mpi/contention/message_traffic.cpp mpi/mpi_launch.cpp mpi/mpi_world.cpp
  mpi/supervised_ranks.cpp)
target_compile_options(nearfar_mpi PRIVATE -Wall -Wextra)
target_link_libraries(nearfar_mpi PUBLIC nearfar MPI::MPI_CXX)

# What moves data beside MPI: GPUs where there is a CUDA compiler.
if(TARGET nearfar_gpu AND NOT NEARFAR_HIP)
  add_library(nearfar_mover STATIC mpi/contention/copy_mover.cpp)
  target_link_libraries(nearfar_mover PUBLIC nearfar_gpu)
else()
  add_library(nearfar_mover STATIC mpi/contention/no_copy_mover.cpp)
  target_link_libraries(nearfar_mover PUBLIC nearfar)
endif()
target_compile_options(nearfar_mover PRIVATE -Wall -Wextra)

add_executable(nearfar-contention programs/nearfar_contention.cpp)
target_link_libraries(nearfar-contention PRIVATE nearfar_mpi nearfar_mover)
