// Matrix products whose operands are made on the GPU, and which are checked there.
#pragma once

#include "kernels/gpu_compute/gpu_compute.h"
#include "kernels/problems/gemm.h"

namespace nearfar {

// Of one stream of the GPU that was current when it was made.
class ProductCheck {
public:
    ProductCheck(const ProblemShape& shape, cudaStream_t stream);

    // Queues both operands into memory of the GPU.
    void queue_operands(void* in, Operands operands) const;
    // Waits for the stream. Throws Failure (wrong_data) where `out` is not the product of `in`.
    void require(const void* in, const void* out, Operands operands) const;
    // Computes one product of whole numbers, which has to be exact.
    void require_exact(const GpuCompute& compute, void* in, void* out) const;

private:
    ProblemShape shape_;
    cudaStream_t stream_;
    GpuMemory<double> vectors_;  // of n numbers: x, B x, A (B x), C x

    double* vector(std::size_t which) const { return vectors_.get() + which * shape_.n; }
    std::vector<double> read(std::size_t which) const;
    template <typename In, typename Out>
    void queue_rows(const void* in, const void* out, Operands operands) const;
};

}  // namespace nearfar
