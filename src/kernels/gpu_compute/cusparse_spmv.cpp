// A sparse matrix times a vector by cuSPARSE.
#include "kernels/gpu_compute/gpu_compute.h"

#if __has_include(<cusparse.h>)

#include <cusparse.h>

#include <memory>

#include "kernels/gpu_compute/cuda_library.h"
#include "kernels/problems/spmv.h"

namespace nearfar {
namespace {

struct Cusparse {
    CudaLibrary library{"cuSPARSE", "cusparse", CUSPARSE_VER_MAJOR};
    decltype(cusparseCreate)* create = library.function<decltype(cusparseCreate)>("cusparseCreate");
    decltype(cusparseDestroy)* destroy = library.function<decltype(cusparseDestroy)>("cusparseDestroy");
    decltype(cusparseSetStream)* set_stream = library.function<decltype(cusparseSetStream)>("cusparseSetStream");
    decltype(cusparseCreateCsr)* create_csr = library.function<decltype(cusparseCreateCsr)>("cusparseCreateCsr");
    decltype(cusparseDestroySpMat)* destroy_matrix = library.function<decltype(cusparseDestroySpMat)>("cusparseDestroySpMat");
    decltype(cusparseCreateDnVec)* create_vector = library.function<decltype(cusparseCreateDnVec)>("cusparseCreateDnVec");
    decltype(cusparseDestroyDnVec)* destroy_vector = library.function<decltype(cusparseDestroyDnVec)>("cusparseDestroyDnVec");
    decltype(cusparseSpMV_bufferSize)* buffer_size =
        library.function<decltype(cusparseSpMV_bufferSize)>("cusparseSpMV_bufferSize");
    decltype(cusparseSpMV)* spmv = library.function<decltype(cusparseSpMV)>("cusparseSpMV");
};

const Cusparse& cusparse() {
    static const Cusparse library;
    return library;
}

class CusparseSpmv {
public:
    CusparseSpmv(const ProblemShape& shape, cudaStream_t stream) : n_(shape.n) {
        cusparse().library.check(cusparse().create(&handle_), "cusparseCreate");
        cusparse().library.check(cusparse().set_stream(handle_, stream), "cusparseSetStream");
    }
    CusparseSpmv(const CusparseSpmv&) = delete;
    CusparseSpmv& operator=(const CusparseSpmv&) = delete;
    ~CusparseSpmv() {
        forget();
        cusparse().destroy(handle_);
    }

    void queue(const void* in, void* out) {
        if (in != in_ || out != out_) describe(in, out);
        const float one = 1;
        const float nought = 0;
        cusparse().library.check(cusparse().spmv(handle_, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, matrix_, x_, &nought, y_,
                                                 CUDA_R_32F, CUSPARSE_SPMV_ALG_DEFAULT, buffer_.get()),
                                 "cusparseSpMV");
    }

private:
    std::size_t n_;
    cusparseHandle_t handle_ = nullptr;
    const void* in_ = nullptr;
    const void* out_ = nullptr;
    cusparseSpMatDescr_t matrix_ = nullptr;
    cusparseDnVecDescr_t x_ = nullptr;
    cusparseDnVecDescr_t y_ = nullptr;
    GpuMemory<char> buffer_;

    // Where the operands are, and the memory that goes with it.
    void describe(const void* in, void* out) {
        forget();
        const CudaLibrary& library = cusparse().library;
        const SpmvOperands operands(const_cast<void*>(in), n_);
        const auto n = static_cast<std::int64_t>(n_);
        library.check(cusparse().create_csr(&matrix_, n, n, static_cast<std::int64_t>(operands.elements), operands.offsets,
                                            operands.columns, operands.values, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I,
                                            CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F),
                      "cusparseCreateCsr");
        library.check(cusparse().create_vector(&x_, n, operands.x, CUDA_R_32F), "cusparseCreateDnVec");
        library.check(cusparse().create_vector(&y_, n, out, CUDA_R_32F), "cusparseCreateDnVec");
        const float one = 1;
        const float nought = 0;
        std::size_t bytes = 0;
        library.check(cusparse().buffer_size(handle_, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, matrix_, x_, &nought, y_,
                                             CUDA_R_32F, CUSPARSE_SPMV_ALG_DEFAULT, &bytes),
                      "cusparseSpMV_bufferSize");
        buffer_ = make_memory<char>(bytes > 0 ? bytes : 1, "device memory for a kernel's scratch");
        in_ = in;
        out_ = out;
    }

    void forget() {
        if (matrix_ != nullptr) cusparse().destroy_matrix(matrix_);
        if (x_ != nullptr) cusparse().destroy_vector(x_);
        if (y_ != nullptr) cusparse().destroy_vector(y_);
        matrix_ = nullptr;
        x_ = nullptr;
        y_ = nullptr;
    }
};

}  // namespace

GpuCompute make_cusparse_spmv(const ProblemShape& shape, cudaStream_t stream) {
    return [made = std::make_shared<CusparseSpmv>(shape, stream)](const void* in, void* out) { made->queue(in, out); };
}

}  // namespace nearfar

#else

#include "kernels/gpu_compute/cuda_library.h"

namespace nearfar {

GpuCompute make_cusparse_spmv(const ProblemShape&, cudaStream_t) { refuse_library("cuSPARSE"); }

}  // namespace nearfar

#endif
