// The kernel of saxpy on a GPU.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

namespace nearfar {

// y[i] += a x[i] in device memory, queued on a stream of the current device. Throws what check() throws.
void queue_saxpy(float* y, const float* x, float a, std::size_t length, cudaStream_t stream);

}  // namespace nearfar
