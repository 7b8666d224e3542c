#include "kernels/gpu_stream/gpu_stream_series.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/error.h"
#include "gpu/gpu_call.h"
#include "gpu/gpu_kernels.h"
#include "kernels/gpu_stream/gpu_stream_kernels.h"
#include "kernels/stream/stream_kernels.h"
#include "kernels/stream/stream_values.h"

namespace nearfar {
namespace {

constexpr std::size_t word = sizeof(std::uint64_t);
constexpr unsigned long long not_read = ~0ULL;

}  // namespace

GpuStreamSeries::GpuStreamSeries(const Flow& flow, const GpuStreamArrays& arrays, const GpuDevice& gpu, const GpuDevice& checker)
    : flow_(flow), arrays_(arrays), gpu_(&gpu), checker_(&checker) {
    gpu.require();
    checker.require();
    make_current();
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
    check(cudaMalloc(reinterpret_cast<void**>(&sum_), sizeof *sum_), "device memory");
    check(cudaSetDevice(checker_->ordinal), "cudaSetDevice");
    check(cudaStreamCreateWithFlags(&check_stream_, cudaStreamNonBlocking), "cudaStreamCreate");
    check(cudaMalloc(reinterpret_cast<void**>(&wrong_), sizeof *wrong_), "device memory");
}

GpuStreamSeries::GpuStreamSeries(GpuStreamSeries&& other) noexcept
    : flow_(other.flow_), arrays_(other.arrays_), gpu_(other.gpu_), checker_(other.checker_),
      stream_(std::exchange(other.stream_, nullptr)), check_stream_(std::exchange(other.check_stream_, nullptr)),
      wrong_(std::exchange(other.wrong_, nullptr)), sum_(std::exchange(other.sum_, nullptr)), series_(other.series_),
      passes_(other.passes_), counted_(other.counted_), seen_(other.seen_) {}

GpuStreamSeries::~GpuStreamSeries() {
    if (stream_ != nullptr && cudaSetDevice(gpu_->ordinal) == cudaSuccess) {
        cudaStreamDestroy(stream_);
        if (sum_ != nullptr) cudaFree(sum_);
    }
    if (check_stream_ == nullptr || cudaSetDevice(checker_->ordinal) != cudaSuccess) return;
    cudaStreamDestroy(check_stream_);
    if (wrong_ != nullptr) cudaFree(wrong_);
}

std::size_t GpuStreamSeries::counted_bytes() const {
    return static_cast<std::size_t>(stream_bytes(flow_.kernel, arrays_.bytes / sizeof(double)));
}

void GpuStreamSeries::make_current() const { check(cudaSetDevice(gpu_->ordinal), "cudaSetDevice"); }

void GpuStreamSeries::begin() {
    series_ = CopySeries(arrays_.bytes, 1, arrays_.bytes + spare_bytes, 0);
    counted_ = 0;
    seen_ = 0;
    if (is_reduction(flow_.kernel)) return clear_sum();
    if (flow_.kernel == Kernel::fill) warm_memset_up();
    check(cudaSetDevice(checker_->ordinal), "cudaSetDevice");
    queue_fill(arrays_.c, poison_seed, series_.reach() / word, check_stream_);
    check(cudaStreamSynchronize(check_stream_), "poisoning the destination");
}

// What the runtime loads for it must not be loaded behind a latch.
void GpuStreamSeries::warm_memset_up() const {
    make_current();
    queue_stream_pass(Kernel::fill, {nullptr, nullptr, arrays_.c, nullptr, gpu_stream_grain, 0, 0}, stream_);
    check(cudaStreamSynchronize(stream_), "cudaMemsetAsync");
}

void GpuStreamSeries::begin_lap() {
    if (!is_reduction(flow_.kernel)) return series_.begin_lap();
    counted_ += passes_;
    clear_sum();
}

void GpuStreamSeries::clear_sum() {
    make_current();
    check(cudaMemsetAsync(sum_, 0, sizeof *sum_, stream_), "cudaMemset");
    passes_ = 0;
}

void GpuStreamSeries::queue_copies(int passes, bool) {
    for (int i = 0; i < passes; ++i) {
        GpuStreamPass pass{arrays_.a, arrays_.b, arrays_.c, sum_, arrays_.bytes, 0, 0};
        ++passes_;
        if (!is_reduction(flow_.kernel)) {
            const CopyPlace place = series_.next();
            pass.first_word = place.from / word;
            pass.a += pass.first_word;
            pass.b += pass.first_word;
            pass.c += place.to / word;
            pass.fill = fill_byte(place.to / step_bytes, place.from != 0);
        }
        queue_stream_pass(flow_.kernel, pass, stream_);
    }
}

void GpuStreamSeries::verify_lap() {
    if (is_reduction(flow_.kernel)) return require_sum();
    const std::vector<Arrival> heads = series_.heads();
    compare(heads);
    seen_ += copies_seen(heads);
}

Verified GpuStreamSeries::verify() {
    Verified verified;
    if (is_reduction(flow_.kernel)) {
        require_sum();
        verified.bytes = arrays_.bytes * static_cast<std::size_t>(arrays_read(flow_.kernel));
        verified.copies = counted_ + passes_;
        verified.seen = verified.copies;
        return verified;
    }
    const std::vector<Arrival> arrivals = series_.arrivals();
    compare(arrivals);
    for (const Arrival& one : arrivals) verified.bytes += one.words * word;
    verified.copies = series_.copies();
    verified.seen = std::max(seen_, copies_seen(arrivals));
    return verified;
}

void GpuStreamSeries::require_sum() const {
    double sum = NAN;
    make_current();
    check(cudaMemcpyAsync(&sum, sum_, sizeof sum, cudaMemcpyDeviceToHost, stream_), "reading the sum");
    check(cudaStreamSynchronize(stream_), "reading the sum");
    const double wanted = static_cast<double>(passes_) * sum_of_pass(flow_.kernel, arrays_.bytes / sizeof(double));
    if (sum != wanted)
        fail("the sum of " + std::to_string(passes_) + " passes is " + std::to_string(sum) + ", not " + std::to_string(wanted));
}

void GpuStreamSeries::compare(const std::vector<Arrival>& arrivals) const {
    unsigned long long wrong = not_read;  // the reading is a copy, too
    std::size_t words = 0;
    check(cudaSetDevice(checker_->ordinal), "cudaSetDevice");
    check(cudaMemsetAsync(wrong_, 0, sizeof *wrong_, check_stream_), "cudaMemset");
    for (const Arrival& one : arrivals) {
        words += one.words;
        queue_stream_verify(flow_.kernel, arrays_.c, one, wrong_, check_stream_);
    }
    check(cudaMemcpyAsync(&wrong, wrong_, sizeof wrong, cudaMemcpyDeviceToHost, check_stream_), "reading the verification");
    check(cudaStreamSynchronize(check_stream_), "verifying the destination");
    if (wrong == not_read) fail("the number of wrong words was not copied");
    if (wrong != 0)
        fail(std::to_string(wrong) + " of " + std::to_string(words) + " words are wrong in " + flow_.destination.text());
}

void GpuStreamSeries::fail(const std::string& what) const {
    throw Failure("wrong_data", flow_.text() + ": " + what + " (" + checker_->on_bus.pci + ")");
}

}  // namespace nearfar
