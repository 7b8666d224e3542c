# What the GPU programs compile without nvcc, from NEARFAR_CUDA_HEADERS: objects that are linked with CUDA, and in tests with its emulation.
file(GLOB NEARFAR_GPU_SOURCES CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/gpu/*.cpp ${CMAKE_SOURCE_DIR}/copy/*.cpp ${CMAKE_SOURCE_DIR}/kernels/gpu_stream/gpu_*.cpp
  ${CMAKE_SOURCE_DIR}/kernels/beside/*.cpp)
list(FILTER NEARFAR_GPU_SOURCES EXCLUDE REGEX "(copy/(copy_options|suspects|without_gpus)|gpu/(chunks|memory_sizes)|beside/gemm_size).cpp$") # elsewhere, or to be replaced
add_library(nearfar_gpu_code OBJECT ${NEARFAR_GPU_SOURCES})
target_compile_options(nearfar_gpu_code PRIVATE -Wall -Wextra)
target_include_directories(nearfar_gpu_code SYSTEM PUBLIC ${NEARFAR_CUDA_HEADERS})
target_link_libraries(nearfar_gpu_code PUBLIC nearfar)

# Matrix products: cuBLAS, opened at run time, for nearfar-kernels and for copies beside them.
add_library(gemm_gpu_code OBJECT ${CMAKE_SOURCE_DIR}/kernels/gpu_compute/cublas_gemm.cpp) # in tests another one
add_library(cuda_library_code OBJECT ${CMAKE_SOURCE_DIR}/kernels/gpu_compute/$<$<BOOL:${NEARFAR_HIP}>:no_>cuda_library.cpp)
target_compile_definitions(cuda_library_code PRIVATE NEARFAR_CUDA_LIBRARIES="${CUDAToolkit_LIBRARY_DIR}")
foreach(code gemm_gpu_code cuda_library_code)
  target_compile_options(${code} PRIVATE -Wall -Wextra)
  target_include_directories(${code} SYSTEM PUBLIC ${NEARFAR_CUDA_HEADERS})
  target_link_libraries(${code} PUBLIC nearfar)
endforeach()

if(NEARFAR_HIP)
  return()
endif()

# The rest of nearfar-kernels, which alone uses CUDA's other libraries.
file(GLOB NEARFAR_KERNEL_SOURCES CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/kernels/gpu_compute/*.cpp)
list(FILTER NEARFAR_KERNEL_SOURCES EXCLUDE REGEX "/(cublas_gemm|(no_)?cuda_library).cpp$")
add_library(level_one_gpu_code OBJECT ${NEARFAR_KERNEL_SOURCES} ${CMAKE_SOURCE_DIR}/kernels/level_one/gpu_places.cpp
  ${CMAKE_SOURCE_DIR}/kernels/level_one/gpu_sets.cpp ${CMAKE_SOURCE_DIR}/kernels/level_one/sustained_load.cpp
  ${CMAKE_SOURCE_DIR}/kernels/level_one/sustained_run.cpp)
target_compile_options(level_one_gpu_code PRIVATE -Wall -Wextra)
target_include_directories(level_one_gpu_code SYSTEM PUBLIC ${NEARFAR_CUDA_HEADERS})
target_link_libraries(level_one_gpu_code PUBLIC nearfar)
