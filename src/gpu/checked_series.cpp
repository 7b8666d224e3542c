#include "gpu/checked_series.h"

#include <algorithm>

#include "core/error.h"

namespace nearfar {

CheckedSeries::CheckedSeries(const Flow& flow, const GpuDevice& gpu, const GpuDevice& checker)
    : flow_(flow), gpu_(&gpu), checker_(&checker) {
    gpu.require();
    checker.require();
    check(cudaSetDevice(checker.ordinal), "cudaSetDevice");
    check_stream_ = make_stream();
    count_ = make_memory<unsigned long long>(sizeof *count_);
    make_current();
    stream_ = make_stream();
}

void CheckedSeries::make_current() const { check(cudaSetDevice(gpu_->ordinal), "cudaSetDevice"); }

void CheckedSeries::begin_series(const CopySeries& series,
                                 const std::function<void(std::size_t words, cudaStream_t stream)>& queue) {
    series_ = series;
    seen_ = 0;
    check(cudaSetDevice(checker_->ordinal), "cudaSetDevice");
    queue(series_.reach() / sizeof(std::uint64_t), check_stream_.get());
    check(cudaStreamSynchronize(check_stream_.get()), "poisoning the destination");
}

Verified CheckedSeries::verify() {
    const std::vector<Arrival> arrivals = series_.arrivals();
    compare(arrivals);
    Verified verified;
    for (const Arrival& one : arrivals) verified.bytes += one.words * sizeof(std::uint64_t);
    verified.copies = series_.copies();
    verified.seen = std::max(seen_, copies_seen(arrivals));
    return verified;
}

void CheckedSeries::verify_lap() {
    const std::vector<Arrival> heads = series_.heads();
    compare(heads);
    seen_ += copies_seen(heads);
}

unsigned long long CheckedSeries::counted(
    const std::function<void(unsigned long long* count, cudaStream_t stream)>& queue) const {
    constexpr unsigned long long not_read = ~0ULL;
    unsigned long long found = not_read;  // the reading is a copy, too
    check(cudaSetDevice(checker_->ordinal), "cudaSetDevice");
    check(cudaMemsetAsync(count_.get(), 0, sizeof found, check_stream_.get()), "cudaMemset");
    queue(count_.get(), check_stream_.get());
    check(cudaMemcpyAsync(&found, count_.get(), sizeof found, cudaMemcpyDeviceToHost, check_stream_.get()),
          "reading the verification");
    check(cudaStreamSynchronize(check_stream_.get()), "verifying the destination");
    if (found == not_read)
        throw Failure("wrong_data", flow_.text() + ": the number of wrong words was not copied from " + checker_->on_bus.pci);
    return found;
}

}  // namespace nearfar
