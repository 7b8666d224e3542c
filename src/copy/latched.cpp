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
constexpr double long_autocorrelation = 0.6;

bool agree(double a, double b, double c, double within) {
    const double low = std::min({a, b, c});
    const double high = std::max({a, b, c});
    return (high - low) / high <= within;
}

}  // namespace

bool can_be_latched(const Cell& cell) {
    return cell.flows.size() == 1 && !cell.flows[0].pageable && !cell.flows[0].staged && cell.flows[0].tasks == 1;
}

LatchedSampler::LatchedSampler(Route& route, std::size_t bytes, const Policy& policy)
    : route_(route), bytes_(bytes), policy_(policy) {
    route.begin_series(bytes, 1);
    route.make_current();
    check(cudaHostAlloc(reinterpret_cast<void**>(&flag_), sizeof *flag_, cudaHostAllocMapped), "the latch's flag");
    check(cudaHostGetDevicePointer(reinterpret_cast<void**>(&flag_device_), flag_, 0), "the latch's flag");
    check(cudaEventCreate(&start_), "cudaEventCreate");
    check(cudaEventCreate(&stop_), "cudaEventCreate");
}

LatchedSampler::~LatchedSampler() {
    if (flag_ != nullptr) flag_->open = 1;
    if (start_ != nullptr) cudaEventDestroy(start_);
    if (stop_ != nullptr) cudaEventDestroy(stop_);
    if (flag_ != nullptr) cudaFreeHost(flag_);
}

double LatchedSampler::sample(int copies, const std::function<void()>& under_load) {
    for (int attempt = 0; attempt < most_attempts; ++attempt) {
        flag_->open = 0;
        flag_->timed_out = 0;
        route_.begin_lap();
        queue_latch(flag_device_, policy_.latch_seconds, route_.stream());
        check(cudaEventRecord(start_, route_.stream()), "cudaEventRecord");
        queue(copies);
        check(cudaEventRecord(stop_, route_.stream()), "cudaEventRecord");
        const bool hidden = !has_happened(start_);
        flag_->open = 1;
        if (under_load) under_load();
        check(cudaEventSynchronize(stop_), "waiting for copies");
        float milliseconds = 0;
        check(cudaEventElapsedTime(&milliseconds, start_, stop_), "cudaEventElapsedTime");
        route_.verify_lap();
        route_.make_current();
        if (!hidden || flag_->timed_out != 0) continue;
        return static_cast<double>(bytes_) * copies / (static_cast<double>(milliseconds) * 1e6);
    }
    throw Failure("error", route_.flow().text() + ": the latch never held until the copies were queued");
}

void LatchedSampler::queue(int copies) {
    if (policy_.sizes.empty()) {
        route_.queue_passes(copies);
        return;
    }
    // What each copy costs to start is part of the rate at a size.
    for (int i = 0; i < copies; ++i) route_.queue_next();
}

double LatchedSampler::warm_up(const std::function<void()>& under_load) {
    const double end = now() + policy_.warm_up_seconds;
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

LatchedSampler::Outcome LatchedSampler::measure(double seconds, const std::function<void()>& under_load) {
    const double end = now() + seconds;
    const double rate = warm_up(under_load);
    const double one_copy = static_cast<double>(bytes_) / (rate * 1e9);
    int copies = std::clamp(static_cast<int>(std::lround(policy_.sample_seconds / one_copy)), 1, most_queued);
    std::vector<double> samples;
    Outcome outcome;
    outcome.begin = now();
    for (const std::size_t look : looks) {
        while (samples.size() < look && (samples.size() < looks.front() || now() < end) && !interrupted())
            samples.push_back(sample(copies, nullptr));
        if (samples.size() < look) break;
        if (look >= policy_.most_samples || summarise(samples).half_width() <= policy_.target) break;
        // Samples that resemble their neighbours say less than their number: fewer, longer ones from here on.
        if (look > looks.front() && lag_one_autocorrelation(samples) > long_autocorrelation && copies * 2 <= most_queued) {
            copies *= 2;
            samples.clear();
        }
    }
    outcome.end = now();
    if (!samples.empty()) outcome.rate = summarise(samples);
    outcome.converged = samples.size() >= looks.front() && outcome.rate.half_width() <= policy_.target;
    return outcome;
}

}  // namespace nearfar
