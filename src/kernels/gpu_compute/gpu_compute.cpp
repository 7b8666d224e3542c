#include "kernels/gpu_compute/gpu_compute.h"

#include <memory>
#include <utility>

#include "gpu/gpu_call.h"
#include "kernels/gpu_compute/level_one_kernels.h"
#include "kernels/problems/md_box.h"

namespace nearfar {
namespace {

const char* const scratch = "device memory for a kernel's scratch";

GpuCompute make_stencil(const ProblemShape& shape, cudaStream_t stream) {
    const std::shared_ptr<float> between = make_memory<float>(shape.out_bytes, scratch);
    return [=, n = shape.n, passes = shape.passes](const void* in, void* out) {
        float* to = between.get();
        auto* next = static_cast<float*>(out);
        const auto* from = static_cast<const float*>(in);
        for (int pass = 0; pass < passes; ++pass) {
            queue_nine_points(from, to, n, stream);
            from = to;
            std::swap(to, next);
        }
    };
}

template <typename Real>
GpuCompute make_md(const ProblemShape& shape, cudaStream_t stream) {
    return [n = shape.n, box = md_sides(shape.size).box(), stream](const void* in, void* out) {
        const auto* const atoms = static_cast<const MdAtom<Real>*>(in);
        queue_lennard_jones(atoms, reinterpret_cast<const int*>(atoms + n), static_cast<MdAtom<Real>*>(out), n, box, stream);
    };
}

GpuCompute make_cub(const std::string& kernel, std::size_t n, cudaStream_t stream) {
    std::size_t bytes = 0;
    queue_cub(kernel, nullptr, bytes, nullptr, nullptr, n, stream);
    return [=, memory = std::shared_ptr<char>(make_memory<char>(bytes, scratch))](const void* in, void* out) mutable {
        queue_cub(kernel, memory.get(), bytes, static_cast<const std::uint32_t*>(in), static_cast<std::uint32_t*>(out), n,
                  stream);
    };
}

}  // namespace

GpuCompute make_gpu_compute(const ProblemShape& shape, cudaStream_t stream) {
    const std::string& kernel = shape.kernel;
    const std::size_t n = shape.n;
    if (kernel == "triad")
        return [=](const void* in, void* out) {
            const auto* const a = static_cast<const float*>(in);
            queue_triad(a, a + n, static_cast<float*>(out), n, stream);
        };
    if (kernel == "saxpy")
        return
            [=](const void* in, void* out) { queue_saxpy(static_cast<const float*>(in), static_cast<float*>(out), n, stream); };
    if (kernel == "stencil") return make_stencil(shape, stream);
    if (kernel == "md") return make_md<float>(shape, stream);
    if (kernel == "dmd") return make_md<double>(shape, stream);
    if (kernel == "reduction" || kernel == "scan" || kernel == "sort") return make_cub(kernel, n, stream);
    if (kernel == "spmv") return make_cusparse_spmv(shape, stream);
    if (kernel == "sfft" || kernel == "dfft") return make_cufft(shape, stream);
    return make_cublas_gemm(shape, stream);
}

}  // namespace nearfar
