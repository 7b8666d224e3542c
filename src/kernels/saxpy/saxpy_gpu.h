// A rank's saxpy on its GPU.
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <memory>

#include "gpu/gpu_device.h"
#include "kernels/saxpy/saxpy.h"

namespace nearfar {

class GpuSaxpy : public SaxpyDevice {
public:
    // Device memory for two vectors of `bytes`; the GPU's context exists. Throws what check() throws.
    GpuSaxpy(const GpuDevice& gpu, std::size_t bytes);
    ~GpuSaxpy() override;
    GpuSaxpy(const GpuSaxpy&) = delete;
    GpuSaxpy& operator=(const GpuSaxpy&) = delete;

    // Registers the vectors' memory with CUDA, as long as what it returns is kept.
    std::shared_ptr<void> prepare(const SaxpyVectors& vectors) override;
    // Timed by events on the GPU, with nothing between two steps.
    SaxpyStep iterate(const SaxpyVectors& vectors) override;

private:
    const GpuDevice gpu_;
    float* x_ = nullptr;
    float* y_ = nullptr;
    cudaStream_t stream_ = nullptr;
    std::array<cudaEvent_t, 4> marks_{};
};

}  // namespace nearfar
