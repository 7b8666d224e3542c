#include "gpu/gpu_call.h"
#include "kernels/saxpy/saxpy_kernel.h"

namespace nearfar {
namespace {

constexpr int threads_a_block = 256;
constexpr int blocks_a_multiprocessor = 8;

__global__ void saxpy_kernel(float* y, const float* x, float a, std::size_t length) {
    const std::size_t stride = static_cast<std::size_t>(gridDim.x) * blockDim.x;
    for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < length; i += stride)
        y[i] = a * x[i] + y[i];
}

int blocks() {
    int device = 0;
    int multiprocessors = 0;
    check(cudaGetDevice(&device), "cudaGetDevice");
    check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device), "cudaDeviceGetAttribute");
    return multiprocessors * blocks_a_multiprocessor;
}

}  // namespace

void queue_saxpy(float* y, const float* x, float a, std::size_t length, cudaStream_t stream) {
    saxpy_kernel<<<blocks(), threads_a_block, 0, stream>>>(y, x, a, length);
    check(cudaGetLastError(), "saxpy");
}

}  // namespace nearfar
