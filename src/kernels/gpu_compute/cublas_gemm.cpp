// Products of matrices by cuBLAS.
#include "kernels/gpu_compute/gpu_compute.h"

#if __has_include(<cublas_v2.h>) && !defined(NEARFAR_HIP)

#include <cublas_v2.h>

#include <memory>

#include "kernels/gpu_compute/cuda_library.h"

namespace nearfar {
namespace {

// Of several that the header overloads, the one that the library has.
using GemmEx = cublasStatus_t(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int, const void*, const void*,
                              cudaDataType, int, const void*, cudaDataType, int, const void*, void*, cudaDataType, int,
                              cublasComputeType_t, cublasGemmAlgo_t);

struct Cublas {
    CudaLibrary library{"cuBLAS", "cublas", CUBLAS_VER_MAJOR};
    decltype(cublasCreate_v2)* create = library.function<decltype(cublasCreate_v2)>("cublasCreate_v2");
    decltype(cublasDestroy_v2)* destroy = library.function<decltype(cublasDestroy_v2)>("cublasDestroy_v2");
    decltype(cublasSetStream_v2)* set_stream = library.function<decltype(cublasSetStream_v2)>("cublasSetStream_v2");
    decltype(cublasSgemm_v2)* sgemm = library.function<decltype(cublasSgemm_v2)>("cublasSgemm_v2");
    decltype(cublasDgemm_v2)* dgemm = library.function<decltype(cublasDgemm_v2)>("cublasDgemm_v2");
    GemmEx* gemm_ex = library.function<GemmEx>("cublasGemmEx");
};

const Cublas& cublas() {
    static const Cublas library;
    return library;
}

class CublasGemm {
public:
    CublasGemm(const ProblemShape& shape, cudaStream_t stream, bool adds)
        : shape_(shape), side_(static_cast<int>(shape.n)), kept_(adds ? 1 : 0) {
        cublas().library.check(cublas().create(&handle_), "cublasCreate");
        cublas().library.check(cublas().set_stream(handle_, stream), "cublasSetStream");
    }
    CublasGemm(const CublasGemm&) = delete;
    CublasGemm& operator=(const CublasGemm&) = delete;
    ~CublasGemm() { cublas().destroy(handle_); }

    void queue(const void* in, void* out) { cublas().library.check(multiply(in, out), shape_.kernel.c_str()); }

private:
    ProblemShape shape_;
    int side_;
    float kept_;  // of what the results were: all or nothing
    cublasHandle_t handle_ = nullptr;

    cublasStatus_t multiply(const void* in, void* out) const {
        constexpr auto plain = CUBLAS_OP_N;
        const int n = side_;
        const std::size_t matrix = shape_.in_bytes / 2;
        const void* const b = static_cast<const char*>(in) + matrix;
        if (shape_.kernel == "dgemm") {
            const double one = 1;
            const double kept = kept_;
            return cublas().dgemm(handle_, plain, plain, n, n, n, &one, static_cast<const double*>(in), n,
                                  static_cast<const double*>(b), n, &kept, static_cast<double*>(out), n);
        }
        const float one = 1;
        if (shape_.kernel == "sgemm")
            return cublas().sgemm(handle_, plain, plain, n, n, n, &one, static_cast<const float*>(in), n,
                                  static_cast<const float*>(b), n, &kept_, static_cast<float*>(out), n);
        return cublas().gemm_ex(handle_, plain, plain, n, n, n, &one, in, CUDA_R_16BF, n, b, CUDA_R_16BF, n, &kept_, out,
                                CUDA_R_32F, n, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
    }
};

}  // namespace

GpuCompute make_cublas_gemm(const ProblemShape& shape, cudaStream_t stream, bool adds) {
    return [made = std::make_shared<CublasGemm>(shape, stream, adds)](const void* in, void* out) { made->queue(in, out); };
}

}  // namespace nearfar

#else

#include "kernels/gpu_compute/cuda_library.h"

namespace nearfar {

GpuCompute make_cublas_gemm(const ProblemShape&, cudaStream_t, bool) { refuse_library("cuBLAS"); }

}  // namespace nearfar

#endif
