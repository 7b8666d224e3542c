#include <cstddef>

#include "gpu/buffers.h"
#include "gpu/gpu_kernels.h"

namespace nearfar {

const std::size_t buffer_bytes = std::size_t{256} << 20;
const std::size_t chase_lines = std::size_t{1} << 20;
const std::size_t chase_host_caches = 2;
const std::size_t gpu_stream_array = std::size_t{2} << 30;
const std::size_t host_stream_array = std::size_t{256} << 20;

}  // namespace nearfar
