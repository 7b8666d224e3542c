# The POP pattern: its library, and the program where there is an MPI.
add_library(saxpy STATIC
  kernels/pop.cpp kernels/saxpy.cpp kernels/saxpy_figures.cpp kernels/saxpy_host_rank.cpp kernels/saxpy_options.cpp
  kernels/saxpy_table.cpp)
target_compile_options(saxpy PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra>)
target_link_libraries(saxpy PUBLIC nearfar)
if(TARGET nearfar_gpu)
  target_sources(saxpy PRIVATE kernels/saxpy_gpu.cu kernels/saxpy_gpu_rank.cpp)
  target_link_libraries(saxpy PUBLIC nearfar_gpu)
else()
  target_sources(saxpy PRIVATE kernels/saxpy_no_gpu_rank.cpp)
endif()

if(TARGET nearfar_mpi)
  add_executable(nearfar-saxpy programs/nearfar_saxpy.cpp mpi/saxpy_run.cpp)
  target_link_libraries(nearfar-saxpy PRIVATE saxpy nearfar_mpi)
endif()
