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

file(GLOB NEARFAR_GPU_SOURCES CONFIGURE_DEPENDS gpu/*.cpp gpu/*.cu copy/*.cpp)
list(FILTER NEARFAR_GPU_SOURCES EXCLUDE REGEX "copy/(copy_options|quick|suspects).cpp$") # they need no GPU
add_library(nearfar_gpu STATIC ${NEARFAR_GPU_SOURCES})
target_compile_options(nearfar_gpu PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra>)
target_link_libraries(nearfar_gpu PUBLIC nearfar CUDA::cudart_static)

add_executable(nearfar-copy programs/nearfar_copy.cpp)
target_link_libraries(nearfar-copy PRIVATE nearfar_gpu)
