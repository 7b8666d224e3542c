// What a GPU does for one call of a kernel, between its operands' arrival and its results' departure.
#pragma once

#include <cstddef>
#include <functional>

#include "gpu/gpu_handles.h"
#include "kernels/problems/problem.h"

namespace nearfar {

// Queues one call; `in` and `out` are memory of the GPU, laid out as the problem says. Leaves the operands as they are. Of one stream of the
// GPU that was current when it was made, with the plans and the scratch memory that its kernel needs: two calls at the same time need two of
// them. The GPU has to be current where the last copy is destroyed.
using GpuCompute = std::function<void(const void* in, void* out)>;

// Throws Prevented (missing_library) where the kernel's library is not there.
GpuCompute make_gpu_compute(const ProblemShape& shape, cudaStream_t stream);

// By library.
// `adds`: the product is added to what the results are.
GpuCompute make_cublas_gemm(const ProblemShape& shape, cudaStream_t stream, bool adds = false);
GpuCompute make_cufft(const ProblemShape& shape, cudaStream_t stream);
GpuCompute make_cusparse_spmv(const ProblemShape& shape, cudaStream_t stream);

}  // namespace nearfar
