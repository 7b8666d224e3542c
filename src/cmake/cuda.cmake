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

set(NEARFAR_CUDA_HEADERS ${CUDAToolkit_INCLUDE_DIRS})
include(cmake/gpu_code.cmake)
add_library(nearfar_gpu STATIC gpu/gpu_kernels.cu gpu/memory_sizes.cpp)
target_compile_options(nearfar_gpu PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra>)
target_link_libraries(nearfar_gpu PUBLIC nearfar_gpu_code CUDA::cudart_static)

add_executable(nearfar-copy programs/nearfar_copy.cpp)
target_link_libraries(nearfar-copy PRIVATE nearfar_gpu)
