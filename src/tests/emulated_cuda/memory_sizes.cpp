// In the place of gpu/memory_sizes.cpp: what CPUs fill, copy and check in a short time.
#include <cstddef>

#include "gpu/buffers.h"
#include "gpu/gpu_kernels.h"

namespace nearfar {

const std::size_t buffer_bytes = std::size_t{4} << 20;
const std::size_t chase_lines = std::size_t{1} << 10;
const std::size_t chase_host_caches = 0;
const std::size_t gpu_stream_array = std::size_t{1} << 20;
const std::size_t host_stream_array = std::size_t{512} << 10;

}  // namespace nearfar
