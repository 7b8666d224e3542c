// Matrix products as emulated-copy computes them beside copies, in the place of cuBLAS: on the CPU, and small.
#include <map>

#include "gpu/gpu_call.h"
#include "kernels/beside/gemm_series.h"
#include "kernels/gpu_compute/cuda_library.h"
#include "tests/emulated_cuda/runtime.h"
#include "tests/emulated_cuda/settings.h"

namespace nearfar {
namespace {

class EmulatedGemm : public GpuCompute {
public:
    EmulatedGemm(const ProblemShape& shape, cudaStream_t stream) : n_(shape.n), stream_(stream) {}

    void queue(const void* in, void* out) override {
        const std::size_t n = n_;
        const auto* const a = static_cast<const float*>(in);
        const float* const b = a + n * n;
        auto* const c = static_cast<float*>(out);
        emulated_cuda::queue_call("gemm", stream_, [=](double) {
            std::fill(c, c + n * n, 0.0F);
            for (std::size_t column = 0; column < n; ++column)
                for (std::size_t k = 0; k < n; ++k)
                    for (std::size_t row = 0; row < n; ++row) c[column * n + row] += a[k * n + row] * b[column * n + k];
            if (const auto wrong = emulated_cuda::settings().wrong_product) c[*wrong] += 1000;
            return emulated_cuda::now();
        });
        check(cudaGetLastError(), "gemm");
    }

private:
    std::size_t n_;
    cudaStream_t stream_;
};

}  // namespace

const ProblemSize gemm_beside_copies = ProblemSize::small;

std::unique_ptr<GpuCompute> make_cublas_gemm(const ProblemShape& shape, cudaStream_t stream) {
    return std::make_unique<EmulatedGemm>(shape, stream);
}

std::map<std::string, std::string> opened_libraries() { return {}; }

}  // namespace nearfar
