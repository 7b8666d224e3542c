// What a GPU does for one call of a kernel, between its operands' arrival and its results' departure.
#pragma once

#include <cstddef>
#include <memory>

#include "gpu/gpu_runtime.h"
#include "kernels/problems/problem.h"

namespace nearfar {

// Of one stream of the GPU that was current when it was made, with the plans and the scratch memory that its kernel needs: two calls at
// the same time need two of them.
class GpuCompute {
public:
    GpuCompute() = default;
    virtual ~GpuCompute() = default;
    GpuCompute(const GpuCompute&) = delete;
    GpuCompute& operator=(const GpuCompute&) = delete;

    // Queues it; `in` and `out` are memory of the GPU, laid out as the problem says. Leaves the operands as they are.
    virtual void queue(const void* in, void* out) = 0;
};

// Throws Prevented (missing_library) where the kernel's library is not there.
std::unique_ptr<GpuCompute> make_gpu_compute(const ProblemShape& shape, cudaStream_t stream);

// By library.
// `adds`: the product is added to what the results are.
std::unique_ptr<GpuCompute> make_cublas_gemm(const ProblemShape& shape, cudaStream_t stream, bool adds = false);
std::unique_ptr<GpuCompute> make_cufft(const ProblemShape& shape, cudaStream_t stream);
std::unique_ptr<GpuCompute> make_cusparse_spmv(const ProblemShape& shape, cudaStream_t stream);

// Memory of the current GPU.
class DeviceScratch {
public:
    explicit DeviceScratch(std::size_t bytes);
    ~DeviceScratch() { cudaFree(data_); }
    DeviceScratch(const DeviceScratch&) = delete;
    DeviceScratch& operator=(const DeviceScratch&) = delete;

    void* data() const { return data_; }
    std::size_t bytes() const { return bytes_; }

private:
    void* data_ = nullptr;
    std::size_t bytes_;
};

}  // namespace nearfar
