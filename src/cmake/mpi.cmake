# The MPI half of the library and the programs that need it.
add_library(flow_mpi STATIC
  flow/agreed_window.cpp flow/contention.cpp flow/contention_document.cpp flow/contention_figures.cpp flow/contention_options.cpp
  flow/contention_plan.cpp flow/contention_results.cpp flow/message_traffic.cpp flow/moving_phase.cpp flow/mpi_launch.cpp
  flow/mpi_world.cpp flow/nic.cpp flow/stream_mover.cpp)
target_compile_options(flow_mpi PRIVATE -Wall -Wextra)
target_link_libraries(flow_mpi PUBLIC flow MPI::MPI_CXX)

# What moves data beside MPI: GPUs where there is a CUDA compiler.
if(TARGET flow_gpu)
  add_library(flow_mover STATIC flow/copy_mover.cpp)
  target_link_libraries(flow_mover PUBLIC flow_gpu)
else()
  add_library(flow_mover STATIC flow/no_copy_mover.cpp)
  target_link_libraries(flow_mover PUBLIC flow)
endif()
target_compile_options(flow_mover PRIVATE -Wall -Wextra)
target_link_libraries(flow_mpi PUBLIC flow_mover)

add_executable(nearfar-contention programs/nearfar_contention.cpp)
target_link_libraries(nearfar-contention PRIVATE flow_mpi)
