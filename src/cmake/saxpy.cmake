# The POP pattern: `nearfar-kernels saxpy`.
add_library(saxpy STATIC
  kernels/saxpy/pop.cpp kernels/saxpy/saxpy.cpp kernels/saxpy/saxpy_figures.cpp kernels/saxpy/saxpy_host_rank.cpp kernels/saxpy/saxpy_options.cpp
  kernels/saxpy/saxpy_table.cpp)
target_compile_options(saxpy PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra>)
target_link_libraries(saxpy PUBLIC nearfar)
# What its ranks run on: GPUs where there is a CUDA compiler.
if(TARGET nearfar_gpu)
  add_library(saxpy_rank STATIC kernels/saxpy/saxpy_gpu.cpp kernels/saxpy/saxpy_gpu_rank.cpp kernels/saxpy/saxpy_kernel.cu)
  target_link_libraries(saxpy_rank PUBLIC saxpy nearfar_gpu)
else()
  add_library(saxpy_rank STATIC kernels/saxpy/saxpy_no_gpu_rank.cpp)
  target_link_libraries(saxpy_rank PUBLIC saxpy)
endif()
target_compile_options(saxpy_rank PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra>)
