#include "kernels/gpu_stream/gpu_stream_series.h"

#include <cmath>

#include "core/error.h"
#include "gpu/gpu_call.h"
#include "gpu/gpu_kernels.h"
#include "kernels/gpu_stream/gpu_stream_kernels.h"
#include "kernels/stream/stream_kernels.h"
#include "kernels/stream/stream_values.h"

namespace nearfar {
namespace {

constexpr std::size_t word = sizeof(std::uint64_t);

}  // namespace

GpuStreamSeries::GpuStreamSeries(const Flow& flow, const Buffer& arrays, const GpuDevice& gpu, const GpuDevice& checker)
    : CheckedSeries(flow, gpu, checker), arrays_(&arrays), sum_(make_memory<double>(sizeof(double))) {
    char* const first = kernel_address(arrays);
    const std::size_t each = arrays.bytes + spare_bytes;
    a_ = reinterpret_cast<double*>(first);
    b_ = reinterpret_cast<double*>(first + each);
    c_ = reinterpret_cast<double*>(first + 2 * each);
}

std::size_t GpuStreamSeries::counted_bytes() const {
    return static_cast<std::size_t>(stream_bytes(flow().kernel, arrays_->bytes / sizeof(double)));
}

void GpuStreamSeries::begin() {
    counted_ = 0;
    if (flow().kernel == Kernel::fill) warm_memset_up();
    const std::size_t room = arrays_->bytes + spare_bytes;
    begin_series(CopySeries(arrays_->bytes, 1, room, 0), [this, room](std::size_t words, cudaStream_t stream) {
        queue_stream_values(a_, b_, room / sizeof(double), stream);
        queue_fill(c_, poison_seed, words, stream);
    });
    clear_sum();
}

// What the runtime loads for it must not be loaded behind a latch.
void GpuStreamSeries::warm_memset_up() const {
    make_current();
    queue_stream_pass(Kernel::fill, {nullptr, nullptr, c_, nullptr, gpu_stream_grain, 0, 0}, stream());
    check(cudaStreamSynchronize(stream()), "cudaMemsetAsync");
}

void GpuStreamSeries::begin_lap() {
    if (!is_reduction(flow().kernel)) return CheckedSeries::begin_lap();
    counted_ += passes_;
    clear_sum();
}

void GpuStreamSeries::clear_sum() {
    make_current();
    check(cudaMemsetAsync(sum_.get(), 0, sizeof(double), stream()), "cudaMemset");
    passes_ = 0;
}

void GpuStreamSeries::queue_copies(int passes, bool) {
    for (int i = 0; i < passes; ++i) {
        GpuStreamPass pass{a_, b_, c_, sum_.get(), arrays_->bytes, 0, 0};
        ++passes_;
        if (!is_reduction(flow().kernel)) {
            const CopyPlace place = series_.next();
            pass.first_word = place.from / word;
            pass.a += pass.first_word;
            pass.b += pass.first_word;
            pass.c += place.to / word;
            pass.fill = fill_byte(place.to / step_bytes, place.from != 0);
        }
        queue_stream_pass(flow().kernel, pass, stream());
    }
}

void GpuStreamSeries::verify_lap() {
    if (is_reduction(flow().kernel)) return require_sum();
    CheckedSeries::verify_lap();
}

Verified GpuStreamSeries::verify() {
    if (!is_reduction(flow().kernel)) return CheckedSeries::verify();
    require_sum();
    const std::uint64_t passes = counted_ + passes_;
    return {arrays_->bytes * static_cast<std::size_t>(arrays_read(flow().kernel)), passes, passes};
}

void GpuStreamSeries::require_sum() const {
    double sum = NAN;
    make_current();
    check(cudaMemcpyAsync(&sum, sum_.get(), sizeof sum, cudaMemcpyDeviceToHost, stream()), "reading the sum");
    check(cudaStreamSynchronize(stream()), "reading the sum");
    const double wanted = static_cast<double>(passes_) * sum_of_pass(flow().kernel, arrays_->bytes / sizeof(double));
    if (sum != wanted)
        fail("the sum of " + std::to_string(passes_) + " passes is " + std::to_string(sum) + ", not " + std::to_string(wanted));
}

void GpuStreamSeries::compare(const std::vector<Arrival>& arrivals) const {
    std::size_t words = 0;
    const unsigned long long wrong = counted([&](unsigned long long* count, cudaStream_t stream) {
        for (const Arrival& one : arrivals) {
            words += one.words;
            queue_stream_verify(flow().kernel, c_, one, count, stream);
        }
    });
    if (wrong != 0)
        fail(std::to_string(wrong) + " of " + std::to_string(words) + " words are wrong in " + flow().destination.text());
}

void GpuStreamSeries::fail(const std::string& what) const {
    throw Failure("wrong_data", flow().text() + ": " + what + " (" + checker_->on_bus.pci + ")");
}

}  // namespace nearfar
