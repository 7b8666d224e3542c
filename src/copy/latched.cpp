#include "copy/latched.h"

#include <algorithm>
#include <cmath>

#include "core/clock.h"
#include "core/error.h"
#include "core/interrupt.h"
#include "gpu/gpu_call.h"

namespace nearfar {
namespace {

constexpr int most_queued = 64;  // a deep queue behind a closed latch can block the host for ever
constexpr int most_attempts = 8;

bool agree(double a, double b, double c, double within) {
    const double low = std::min({a, b, c});
    const double high = std::max({a, b, c});
    return (high - low) / high <= within;
}

}  // namespace

bool can_be_latched(const Cell& cell) {
    const Flow& flow = cell.flows[0];
    return cell.flows.size() == 1 && !flow.is_stream_flow() && !flow.pageable && !flow.staged && flow.tasks == 1;
}

Latch::Latch(const QueuedSeries& series) {
    series.make_current();
    check(cudaHostAlloc(reinterpret_cast<void**>(&flag_), sizeof *flag_, cudaHostAllocMapped), "the latch's flag");
    check(cudaHostGetDevicePointer(reinterpret_cast<void**>(&flag_device_), flag_, 0), "the latch's flag");
    check(cudaEventCreate(&start_), "cudaEventCreate");
    check(cudaEventCreate(&stop_), "cudaEventCreate");
}

Latch::~Latch() {
    if (flag_ != nullptr) open();
    if (start_ != nullptr) cudaEventDestroy(start_);
    if (stop_ != nullptr) cudaEventDestroy(stop_);
    if (flag_ != nullptr) cudaFreeHost(flag_);
}

void Latch::close(cudaStream_t stream, double longest_seconds) {
    flag_->open = 0;
    flag_->timed_out = 0;
    queue_latch(flag_device_, longest_seconds, stream);
}

// The kernel looks at it meanwhile.
void Latch::open() { __atomic_store_n(&flag_->open, 1, __ATOMIC_RELEASE); }

double LatchedSampler::sample(int copies, const std::function<void()>& under_load) {
    for (int attempt = 0; attempt < most_attempts; ++attempt) {
        series_.begin_lap();
        latch_.close(series_.stream(), policy_.latch_seconds);
        check(cudaEventRecord(latch_.start(), series_.stream()), "cudaEventRecord");
        series_.queue_copies(copies, !policy_.at_a_size);
        check(cudaEventRecord(latch_.stop(), series_.stream()), "cudaEventRecord");
        const bool hidden = !has_happened(latch_.start());
        latch_.open();
        if (under_load) under_load();
        check(cudaEventSynchronize(latch_.stop()), "waiting for copies");
        float milliseconds = 0;
        check(cudaEventElapsedTime(&milliseconds, latch_.start(), latch_.stop()), "cudaEventElapsedTime");
        series_.verify_lap();
        series_.make_current();
        if (!hidden || latch_.has_timed_out()) continue;
        return static_cast<double>(bytes_) * copies / (static_cast<double>(milliseconds) * 1e6);
    }
    throw Failure("error", series_.name() + ": the latch never held until the copies were queued");
}

double LatchedSampler::warm_up(double seconds, const std::function<void()>& under_load) {
    const double end = now() + std::min(seconds, policy_.warm_up_seconds);
    double before = 0;
    double last = sample(1, under_load);
    while (now() < end && !interrupted()) {
        const double next = sample(1, nullptr);
        if (before > 0 && agree(before, last, next, policy_.target)) return next;
        before = last;
        last = next;
    }
    return last;
}

LatchedSampler::Outcome LatchedSampler::measure(double seconds, bool is_warm, const std::function<void()>& under_load) {
    const double end = now() + seconds;
    const double rate = is_warm ? sample(1, under_load) : warm_up(seconds / 2, under_load);
    const double one_copy = static_cast<double>(bytes_) / (rate * 1e9);
    const int copies = std::clamp(static_cast<int>(std::lround(policy_.sample_seconds / one_copy)), 1, most_queued);
    std::vector<double> samples;
    Outcome outcome;
    outcome.visit.begin = now();
    while (samples.size() < policy_.samples && (samples.empty() || now() < end) && !interrupted())
        samples.push_back(sample(copies, nullptr));
    if (samples.empty()) throw Prevented("interrupted", "interrupted while it was measured");
    outcome.visit.end = now();
    outcome.visit.samples = samples.size();
    outcome.complete = samples.size() == policy_.samples;
    outcome.rate = summarise(std::move(samples));
    return outcome;
}

}  // namespace nearfar
