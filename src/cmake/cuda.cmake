# The GPU half of the library and the programs that need it.
if(NOT NEARFAR_CUDA_ARCHITECTURES)
  # PTX of the oldest lets the driver make code for everything else.
  set(NEARFAR_CUDA_ARCHITECTURES 75-virtual 80-real 90-real)
endif()
set(CMAKE_CUDA_ARCHITECTURES ${NEARFAR_CUDA_ARCHITECTURES})
set(CMAKE_CUDA_STANDARD 17)
enable_language(CUDA)
if(CMAKE_CUDA_COMPILER_VERSION VERSION_LESS 12.2)
  message(FATAL_ERROR "CUDA ${CMAKE_CUDA_COMPILER_VERSION} is older than 12.2: set CUDACXX to a newer nvcc")
endif()
find_package(CUDAToolkit REQUIRED)

add_library(flow_gpu STATIC
  flow/aggressor_process.cpp flow/buffers.cpp flow/chase.cpp flow/copy_bench.cpp flow/gpu_call.cpp flow/gpu_device.cpp flow/gpu_kernels.cu
  flow/gpu_task.cpp flow/latched.cpp flow/latency.cpp flow/load_watch.cpp flow/lost_gpu.cpp flow/peer_access.cpp flow/peer_set.cpp flow/route.cpp
  flow/route_plan.cpp flow/windowed.cpp)
target_compile_options(flow_gpu PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra>)
target_link_libraries(flow_gpu PUBLIC flow CUDA::cudart_static)

add_executable(nearfar-copy programs/nearfar_copy.cpp)
target_link_libraries(nearfar-copy PRIVATE flow_gpu)
