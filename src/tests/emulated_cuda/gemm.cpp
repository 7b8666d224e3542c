// Matrix products on the CPU, in the place of cuBLAS; those beside copies are small.
#include <atomic>

#include "gpu/gpu_call.h"
#include "kernels/beside/gemm_series.h"
#include "kernels/problems/gemm.h"
#include "tests/emulated_cuda/runtime.h"
#include "tests/emulated_cuda/settings.h"

namespace nearfar {
namespace {

// An element is wrong where the settings say so, in all products of the process or in one.
template <typename Out>
void spoil(Out* c) {
    static std::atomic<unsigned long> products{0};
    const emulated_cuda::Settings& settings = emulated_cuda::settings();
    const unsigned long product = ++products;
    if (settings.wrong_product && (settings.wrong_only == 0 || settings.wrong_only == product))
        c[*settings.wrong_product] += static_cast<Out>(settings.wrong_by);
}

template <typename In, typename Out>
GpuCompute emulated_gemm(std::size_t n, cudaStream_t stream, bool adds) {
    return [=](const void* in, void* out) {
        emulated_cuda::queue_call("gemm", stream, [n, adds, a = static_cast<const In*>(in), c = static_cast<Out*>(out)](double) {
            const In* const b = a + n * n;
            if (!adds) std::fill(c, c + n * n, Out{0});
            for (std::size_t column = 0; column < n; ++column)
                for (std::size_t k = 0; k < n; ++k)
                    for (std::size_t row = 0; row < n; ++row)
                        c[column * n + row] +=
                            static_cast<Out>(number(a[k * n + row])) * static_cast<Out>(number(b[column * n + k]));
            spoil(c);
            return emulated_cuda::now();
        });
        check(cudaGetLastError(), "gemm");
    };
}

}  // namespace

const ProblemSize gemm_beside_copies = ProblemSize::small;

GpuCompute make_cublas_gemm(const ProblemShape& shape, cudaStream_t stream, bool adds) {
    if (shape.kernel == "dgemm") return emulated_gemm<double, double>(shape.n, stream, adds);
    if (shape.kernel == "bf16gemm") return emulated_gemm<Bf16, float>(shape.n, stream, adds);
    return emulated_gemm<float, float>(shape.n, stream, adds);
}

}  // namespace nearfar
