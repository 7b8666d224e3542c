// Transforms by cuFFT.
#include "kernels/gpu_compute/gpu_compute.h"

#if __has_include(<cufft.h>)

#include <cufft.h>

#include <memory>

#include "kernels/gpu_compute/cuda_library.h"

namespace nearfar {
namespace {

struct Cufft {
    CudaLibrary library{"cuFFT", "cufft", CUFFT_VER_MAJOR};
    decltype(cufftPlanMany)* plan_many = library.function<decltype(cufftPlanMany)>("cufftPlanMany");
    decltype(cufftDestroy)* destroy = library.function<decltype(cufftDestroy)>("cufftDestroy");
    decltype(cufftSetStream)* set_stream = library.function<decltype(cufftSetStream)>("cufftSetStream");
    decltype(cufftExecC2C)* exec_single = library.function<decltype(cufftExecC2C)>("cufftExecC2C");
    decltype(cufftExecZ2Z)* exec_double = library.function<decltype(cufftExecZ2Z)>("cufftExecZ2Z");
};

const Cufft& cufft() {
    static const Cufft library;
    return library;
}

class CufftTransform {
public:
    CufftTransform(const ProblemShape& shape, cudaStream_t stream) : is_double_(shape.kernel == "dfft") {
        auto points = static_cast<int>(fft_points);
        cufft().library.check(cufft().plan_many(&plan_, 1, &points, nullptr, 1, points, nullptr, 1, points,
                                                is_double_ ? CUFFT_Z2Z : CUFFT_C2C, static_cast<int>(shape.n)),
                              "cufftPlanMany");
        cufft().library.check(cufft().set_stream(plan_, stream), "cufftSetStream");
    }
    CufftTransform(const CufftTransform&) = delete;
    CufftTransform& operator=(const CufftTransform&) = delete;
    ~CufftTransform() { cufft().destroy(plan_); }

    void queue(const void* in, void* out) {
        void* const from = const_cast<void*>(in);  // not written: the results are elsewhere
        const cufftResult status = is_double_ ? cufft().exec_double(plan_, static_cast<cufftDoubleComplex*>(from),
                                                                    static_cast<cufftDoubleComplex*>(out), CUFFT_FORWARD)
                                              : cufft().exec_single(plan_, static_cast<cufftComplex*>(from),
                                                                    static_cast<cufftComplex*>(out), CUFFT_FORWARD);
        cufft().library.check(status, "cufftExec");
    }

private:
    bool is_double_;
    cufftHandle plan_ = 0;
};

}  // namespace

GpuCompute make_cufft(const ProblemShape& shape, cudaStream_t stream) {
    return [made = std::make_shared<CufftTransform>(shape, stream)](const void* in, void* out) { made->queue(in, out); };
}

}  // namespace nearfar

#else

#include "kernels/gpu_compute/cuda_library.h"

namespace nearfar {

GpuCompute make_cufft(const ProblemShape&, cudaStream_t) { refuse_library("cuFFT"); }

}  // namespace nearfar

#endif
