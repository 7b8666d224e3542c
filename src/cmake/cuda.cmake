# The GPU half of the library and the programs that need it.
set(CMAKE_CUDA_STANDARD 17)
enable_language(CUDA)
if(CMAKE_CUDA_COMPILER_VERSION VERSION_LESS 11.8)
  message(FATAL_ERROR "CUDA ${CMAKE_CUDA_COMPILER_VERSION} is older than 11.8: set CUDACXX to a newer nvcc")
endif()
set(CMAKE_CUDA_ARCHITECTURES ${NEARFAR_CUDA_ARCHITECTURES})
if(NOT NEARFAR_CUDA_ARCHITECTURES)
  include(cmake/cuda_architectures.cmake)
  execute_process(COMMAND ${CMAKE_CUDA_COMPILER} --list-gpu-arch OUTPUT_VARIABLE NEARFAR_LISTED COMMAND_ERROR_IS_FATAL ANY)
  nearfar_cuda_architectures("${NEARFAR_LISTED}" CMAKE_CUDA_ARCHITECTURES)
endif()
list(JOIN CMAKE_CUDA_ARCHITECTURES ", " NEARFAR_SERVED)
message(STATUS "This build serves GPUs of the architectures ${NEARFAR_SERVED} (real: code of their own; virtual: PTX, also for later ones)")
string(APPEND CMAKE_CUDA_FLAGS " --threads 0") # the architectures of a file at the same time
find_package(CUDAToolkit REQUIRED)

set(NEARFAR_CUDA_HEADERS ${CUDAToolkit_INCLUDE_DIRS} CACHE INTERNAL "Where cuda_runtime_api.h is")
include(cmake/gpu_code.cmake)
add_library(nearfar_gpu STATIC gpu/gpu_kernels.cu kernels/gpu_stream/gpu_stream_kernels.cu gpu/memory_sizes.cpp
  kernels/beside/gemm_size.cpp)
target_compile_options(nearfar_gpu PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra>)
target_link_libraries(nearfar_gpu PUBLIC nearfar_gpu_code gemm_gpu_code cuda_library_code CUDA::cudart_static)

# For tests on real GPUs: nearfar-copy with a link that is slower on purpose (tests/gpu/slow_link.cpp says how).
add_executable(nearfar-copy-slow EXCLUDE_FROM_ALL programs/nearfar_copy.cpp tests/gpu/slow_link.cpp)
target_link_libraries(nearfar-copy-slow PRIVATE nearfar_gpu)
target_link_options(nearfar-copy-slow PRIVATE -Wl,--wrap=cudaMemcpyAsync,--wrap=cudaMemcpyPeerAsync)
