# The POP pattern: its library, and the program where there is an MPI.
add_library(saxpy STATIC
  flow/pop.cpp flow/rank_binding.cpp flow/saxpy.cpp flow/saxpy_figures.cpp flow/saxpy_host_rank.cpp flow/saxpy_options.cpp
  flow/saxpy_table.cpp)
target_compile_options(saxpy PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra>)
target_link_libraries(saxpy PUBLIC flow)
if(TARGET flow_gpu)
  target_sources(saxpy PRIVATE flow/saxpy_gpu.cu flow/saxpy_gpu_rank.cpp)
  target_link_libraries(saxpy PUBLIC flow_gpu)
else()
  target_sources(saxpy PRIVATE flow/saxpy_no_gpu_rank.cpp)
endif()

if(TARGET flow_mpi)
  add_executable(nearfar-saxpy programs/nearfar_saxpy.cpp flow/saxpy_run.cpp)
  target_link_libraries(nearfar-saxpy PRIVATE saxpy flow_mpi)
endif()
