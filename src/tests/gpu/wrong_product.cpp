// A fault put there on purpose: linked into spoiled-kernels, it overwrites one element of one product of a kernel once cuBLAS has written
// it. NEARFAR_WRONG_PRODUCT=sgemm=7,dgemm=40 spoils the 7th sgemm and the 40th dgemm that the process queues.
#include <cstdlib>
#include <memory>
#include <string>

#include "gpu/gpu_call.h"
#include "kernels/gpu_compute/gpu_compute.h"

namespace nearfar {

// cuBLAS's own: kernels/gpu_compute/cublas_gemm.cpp, compiled under this name.
GpuCompute make_right_gemm(const ProblemShape& shape, cudaStream_t stream, bool adds);

namespace {

constexpr int fake_bytes = 0x5a;         // in place of the two lowest bytes of an element: a small error, as a weak bit makes
constexpr std::size_t step = 1'000'003;  // between the elements of successive products, so that no part of the matrix is left out

// Which product of this kernel is wrong; 0: none.
std::size_t wrong_product(const std::string& kernel) {
    const char* const text = std::getenv("NEARFAR_WRONG_PRODUCT");
    const std::string wrong = text == nullptr ? "" : text;
    const std::size_t begin = wrong.find(kernel + "=");
    return begin == std::string::npos ? 0 : std::stoul(wrong.substr(begin + kernel.size() + 1));
}

}  // namespace

GpuCompute make_cublas_gemm(const ProblemShape& shape, cudaStream_t stream, bool adds) {
    return [compute = make_right_gemm(shape, stream, adds), shape, stream, wrong = wrong_product(shape.kernel),
            queued = std::make_shared<std::size_t>(0)](const void* in, void* out) {
        compute(in, out);
        if (++*queued != wrong) return;
        const std::size_t elements = shape.n * shape.n;
        char* const element = static_cast<char*>(out) + wrong * step % elements * (shape.out_bytes / elements);
        check(cudaMemsetAsync(element, fake_bytes, 2, stream), "cudaMemset");
    };
}

}  // namespace nearfar
