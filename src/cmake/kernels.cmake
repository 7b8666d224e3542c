# Kernels with their transfers. CUDA's libraries are opened at run time: only their headers are used here.
set(NEARFAR_KERNELS_HOST
  kernels/level_one/host_operands.cpp kernels/level_one/host_places.cpp kernels/level_one/kernels_bench.cpp
  kernels/level_one/kernels_options.cpp kernels/level_one/kernels_run.cpp kernels/level_one/subject.cpp kernels/level_one/visit.cpp
  kernels/saxpy/saxpy_figures.cpp kernels/saxpy/saxpy_options.cpp)
add_library(level_one STATIC ${NEARFAR_KERNELS_HOST})
target_compile_options(level_one PRIVATE -Wall -Wextra)
target_link_libraries(level_one PUBLIC nearfar)

# Its ranks, where there is an MPI.
if(TARGET nearfar_mpi)
  add_library(kernel_ranks STATIC mpi/kernel_ranks.cpp mpi/placed_rank.cpp mpi/saxpy_ranks.cpp)
  target_link_libraries(kernel_ranks PUBLIC level_one nearfar_mpi)
else()
  add_library(kernel_ranks STATIC mpi/no_kernel_ranks.cpp)
  target_link_libraries(kernel_ranks PUBLIC level_one)
endif()
target_compile_options(kernel_ranks PRIVATE -Wall -Wextra)

add_executable(nearfar-kernels programs/nearfar_kernels.cpp)
target_link_libraries(nearfar-kernels PRIVATE kernel_ranks)
if(TARGET nearfar_gpu AND NOT NEARFAR_HIP)
  add_library(level_one_gpu STATIC kernels/gpu_compute/own_kernels.cu kernels/gpu_compute/cub_kernels.cu)
  target_link_libraries(level_one_gpu PUBLIC level_one_gpu_code nearfar_gpu)
  target_link_libraries(nearfar-kernels PRIVATE level_one_gpu)
else()
  target_sources(nearfar-kernels PRIVATE kernels/level_one/no_gpu_places.cpp)
endif()
