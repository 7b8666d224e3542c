#include "kernels/beside/gemm_series.h"

#include "core/error.h"
#include "gpu/gpu_call.h"

namespace nearfar {
namespace {

constexpr int poison = 0xff;
constexpr std::size_t left_free = std::size_t{256} << 20;  // for what libraries take

}  // namespace

GemmSeries::GemmSeries(const GpuDevice& gpu, std::vector<int> cpus)
    : gpu_(gpu), problem_(make_gemm("sgemm", gemm_beside_copies)), team_(std::move(cpus)), operands_(shape().in_bytes) {
    make_current();
    std::size_t free = 0;
    std::size_t total = 0;
    check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
    if (shape().bytes() + left_free > free)
        throw Prevented("no_memory", name() + " needs " + std::to_string((shape().bytes() + left_free) >> 20) + " MiB of " +
                                         gpu.name() + "'s memory: less is free");
    problem_->fill(operands_.data(), team_);
    stream_ = make_stream();
    memory_ = make_memory<char>(shape().bytes(), "device memory for matrices");
    check(cudaMemcpyAsync(memory_.get(), operands_.data(), operands_.size(), cudaMemcpyHostToDevice, stream()),
          "matrices to the GPU");
    compute_ = make_cublas_gemm(shape(), stream());
    queue_copies(1);
    check(cudaStreamSynchronize(stream()), "a matrix product");
}

GemmSeries::~GemmSeries() { cudaSetDevice(gpu_.ordinal); }  // before what is freed there

void GemmSeries::make_current() const { check(cudaSetDevice(gpu_.ordinal), "cudaSetDevice"); }

void GemmSeries::begin_lap() {
    make_current();
    check(cudaMemsetAsync(results(), poison, shape().out_bytes, stream()), "cudaMemset");
    check(cudaStreamSynchronize(stream()), "cudaMemset");
}

void GemmSeries::queue_copies(int products, bool) {
    for (int i = 0; i < products; ++i) compute_(memory_.get(), results());
}

Verified GemmSeries::verify() {
    make_current();
    std::vector<char> found(shape().out_bytes);
    check(cudaMemcpyAsync(found.data(), results(), found.size(), cudaMemcpyDeviceToHost, stream()), "products to the host");
    check(cudaStreamSynchronize(stream()), "products to the host");
    return problem_->verify(operands_.data(), found.data(), team_);
}

}  // namespace nearfar
