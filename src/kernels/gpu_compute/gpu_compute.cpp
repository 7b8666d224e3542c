#include "kernels/gpu_compute/gpu_compute.h"

#include <utility>

#include "gpu/gpu_call.h"
#include "kernels/gpu_compute/level_one_kernels.h"
#include "kernels/problems/md_box.h"

namespace nearfar {
namespace {

class Triad : public GpuCompute {
public:
    Triad(const ProblemShape& shape, cudaStream_t stream) : n_(shape.n), stream_(stream) {}
    void queue(const void* in, void* out) override {
        const auto* const a = static_cast<const float*>(in);
        queue_triad(a, a + n_, static_cast<float*>(out), n_, stream_);
    }

private:
    std::size_t n_;
    cudaStream_t stream_;
};

class Saxpy : public GpuCompute {
public:
    Saxpy(const ProblemShape& shape, cudaStream_t stream) : n_(shape.n), stream_(stream) {}
    void queue(const void* in, void* out) override {
        queue_saxpy(static_cast<const float*>(in), static_cast<float*>(out), n_, stream_);
    }

private:
    std::size_t n_;
    cudaStream_t stream_;
};

class Stencil : public GpuCompute {
public:
    Stencil(const ProblemShape& shape, cudaStream_t stream)
        : n_(shape.n), passes_(shape.passes), stream_(stream), between_(shape.out_bytes) {}
    void queue(const void* in, void* out) override {
        auto* to = static_cast<float*>(between_.data());
        auto* next = static_cast<float*>(out);
        const auto* from = static_cast<const float*>(in);
        for (int pass = 0; pass < passes_; ++pass) {
            queue_nine_points(from, to, n_, stream_);
            from = to;
            std::swap(to, next);
        }
    }

private:
    std::size_t n_;
    int passes_;
    cudaStream_t stream_;
    DeviceScratch between_;
};

template <typename Real>
class Md : public GpuCompute {
public:
    Md(const ProblemShape& shape, cudaStream_t stream) : n_(shape.n), box_(md_sides(shape.size).box()), stream_(stream) {}
    void queue(const void* in, void* out) override {
        const auto* const atoms = static_cast<const MdAtom<Real>*>(in);
        queue_lennard_jones(atoms, reinterpret_cast<const int*>(atoms + n_), static_cast<MdAtom<Real>*>(out), n_, box_, stream_);
    }

private:
    std::size_t n_;
    MdBox box_;
    cudaStream_t stream_;
};

class Cub : public GpuCompute {
public:
    using Queue = void (*)(void*, std::size_t, const std::uint32_t*, std::uint32_t*, std::size_t, cudaStream_t);
    Cub(const ProblemShape& shape, std::size_t scratch, Queue queue, cudaStream_t stream)
        : n_(shape.n), queue_(queue), stream_(stream), scratch_(scratch) {}
    void queue(const void* in, void* out) override {
        queue_(scratch_.data(), scratch_.bytes(), static_cast<const std::uint32_t*>(in), static_cast<std::uint32_t*>(out), n_,
               stream_);
    }

private:
    std::size_t n_;
    Queue queue_;
    cudaStream_t stream_;
    DeviceScratch scratch_;
};

}  // namespace

DeviceScratch::DeviceScratch(std::size_t bytes) : bytes_(bytes) {
    check(cudaMalloc(&data_, bytes), "device memory for a kernel's scratch");
}

std::unique_ptr<GpuCompute> make_gpu_compute(const ProblemShape& shape, cudaStream_t stream) {
    const std::string& kernel = shape.kernel;
    if (kernel == "triad") return std::make_unique<Triad>(shape, stream);
    if (kernel == "saxpy") return std::make_unique<Saxpy>(shape, stream);
    if (kernel == "stencil") return std::make_unique<Stencil>(shape, stream);
    if (kernel == "md") return std::make_unique<Md<float>>(shape, stream);
    if (kernel == "dmd") return std::make_unique<Md<double>>(shape, stream);
    if (kernel == "reduction") return std::make_unique<Cub>(shape, reduction_scratch(shape.n), queue_reduction, stream);
    if (kernel == "scan") return std::make_unique<Cub>(shape, scan_scratch(shape.n), queue_scan, stream);
    if (kernel == "sort") return std::make_unique<Cub>(shape, sort_scratch(shape.n), queue_sort, stream);
    if (kernel == "spmv") return make_cusparse_spmv(shape, stream);
    if (kernel == "sfft" || kernel == "dfft") return make_cufft(shape, stream);
    return make_cublas_gemm(shape, stream);
}

}  // namespace nearfar
