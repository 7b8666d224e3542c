# The GPU half of the library for AMD GPUs, and nearfar-copy: the same sources, under HIP's names (gpu/gpu_runtime.h). Built, never run on AMD
# hardware. What needs CUDA's libraries (nearfar-kernels with GPUs, /gemm beside copies) and NVML is left out.
find_program(NEARFAR_HIPCC hipcc PATHS $ENV{ROCM_PATH}/bin /opt/rocm/bin)
if(NOT NEARFAR_HIPCC)
  message(FATAL_ERROR "NEARFAR_HIP=ON, but no hipcc was found: load ROCm, or install Debian's: apt-get install hipcc libamdhip64-dev")
endif()
get_filename_component(NEARFAR_ROCM ${NEARFAR_HIPCC}/../.. REALPATH)
find_path(NEARFAR_HIP_HEADERS hip/hip_runtime_api.h HINTS ${NEARFAR_ROCM}/include REQUIRED)
find_library(NEARFAR_HIP_LIBRARY amdhip64 HINTS ${NEARFAR_ROCM}/lib REQUIRED)
set(NEARFAR_CUDA_HEADERS ${NEARFAR_HIP_HEADERS})

if(NOT NEARFAR_HIP_ARCHITECTURES)
  file(WRITE ${CMAKE_BINARY_DIR}/empty_hip.cpp "")
  foreach(common gfx90a gfx942)
    execute_process(COMMAND ${NEARFAR_HIPCC} --offload-arch=${common} -x hip -c ${CMAKE_BINARY_DIR}/empty_hip.cpp -o ${CMAKE_BINARY_DIR}/empty_hip.o
      RESULT_VARIABLE NEARFAR_REFUSED OUTPUT_QUIET ERROR_QUIET)
    if(NOT NEARFAR_REFUSED)
      list(APPEND NEARFAR_HIP_ARCHITECTURES ${common})
    endif()
  endforeach()
endif()
list(JOIN NEARFAR_HIP_ARCHITECTURES ", " NEARFAR_SERVED)
message(STATUS "This build serves AMD GPUs of the architectures ${NEARFAR_SERVED}; it was never run on AMD hardware")

target_compile_definitions(nearfar PUBLIC NEARFAR_HIP __HIP_PLATFORM_AMD__)
add_compile_options(-Wno-unused-result -Wno-switch) # errors that are dropped on purpose; CUDA's numbers that HIP has no names for

# By hipcc itself: CMake's own HIP language asks for ROCm's folders, which Debian does not have.
function(nearfar_hip_object source result)
  get_filename_component(name ${source} NAME_WE)
  set(object ${CMAKE_BINARY_DIR}/${name}.hip.o)
  list(TRANSFORM NEARFAR_HIP_ARCHITECTURES PREPEND --offload-arch= OUTPUT_VARIABLE architectures)
  add_custom_command(OUTPUT ${object} DEPENDS ${CMAKE_SOURCE_DIR}/${source} DEPFILE ${object}.d
    COMMAND ${NEARFAR_HIPCC} ${architectures} -x hip -std=c++17 -O3 -fPIC -Wno-unused-result -Wno-switch -DNEARFAR_HIP -I${CMAKE_SOURCE_DIR} -MD -MF ${object}.d
      -c ${CMAKE_SOURCE_DIR}/${source} -o ${object} VERBATIM)
  set(${result} ${object} PARENT_SCOPE)
endfunction()

include(cmake/gpu_code.cmake)
nearfar_hip_object(gpu/gpu_kernels.cu NEARFAR_GPU_KERNELS)
nearfar_hip_object(kernels/gpu_stream/gpu_stream_kernels.cu NEARFAR_STREAM_KERNELS)
add_library(nearfar_gpu STATIC ${NEARFAR_GPU_KERNELS} ${NEARFAR_STREAM_KERNELS} gpu/memory_sizes.cpp kernels/beside/gemm_size.cpp)
target_link_libraries(nearfar_gpu PUBLIC nearfar_gpu_code gemm_gpu_code cuda_library_code ${NEARFAR_HIP_LIBRARY})
