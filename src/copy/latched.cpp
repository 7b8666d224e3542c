#include "copy/latched.h"

#include <algorithm>
#include <cmath>
#include <utility>

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

Latch::Latch(QueuedSeries& series, double longest_seconds) : series_(series), longest_seconds_(longest_seconds) {
    series.make_current();
    flag_ = make_pinned<LatchFlag>(sizeof(LatchFlag), "the latch's flag");
    check(cudaHostGetDevicePointer(reinterpret_cast<void**>(&flag_device_), flag_.get(), 0), "the latch's flag");
    start_ = make_event();
    stop_ = make_event();
}

// The kernel looks at it meanwhile.
void Latch::open() { __atomic_store_n(&flag_->open, 1, __ATOMIC_RELEASE); }

double Latch::hold(const std::function<void()>& queue, const std::function<void()>& meanwhile) {
    for (int attempt = 0; attempt < most_attempts; ++attempt) {
        series_.begin_lap();
        flag_->open = 0;
        flag_->timed_out = 0;
        queue_latch(flag_device_, longest_seconds_, series_.stream());
        check(cudaEventRecord(start_.get(), series_.stream()), "cudaEventRecord");
        queue();
        check(cudaEventRecord(stop_.get(), series_.stream()), "cudaEventRecord");
        const bool hidden = !has_happened(start_.get());
        open();
        if (meanwhile) meanwhile();
        check(cudaEventSynchronize(stop_.get()), "waiting for copies");
        const double over = now();
        const bool held = hidden && flag_->timed_out == 0;
        series_.verify_lap();
        series_.make_current();
        if (held) return over;
    }
    throw Failure("error", series_.name() + ": the latch never held until the copies were queued");
}

CellResult measure_latched(QueuedSeries& series, Latch& latch, std::size_t bytes, const Policy& policy, double seconds,
                           bool is_warm, const std::function<void()>& under_load) {
    const double end = now() + seconds;
    // GB/s of so many copies.
    const auto sample = [&](int copies, const std::function<void()>& meanwhile = nullptr) {
        latch.hold([&] { series.queue_copies(copies, !policy.at_a_size); }, meanwhile);
        return static_cast<double>(bytes) * copies / (latch.seconds() * 1e9);
    };
    const double warm = now() + std::min(seconds / 2, policy.warm_up_seconds);
    double rate = sample(1, under_load);
    for (double before = 0, last = rate; !is_warm && now() < warm && !interrupted(); before = std::exchange(last, rate)) {
        rate = sample(1);
        if (before > 0 && agree(before, last, rate, policy.target)) break;
    }
    const double one_copy = static_cast<double>(bytes) / (rate * 1e9);
    const int copies = std::clamp(static_cast<int>(std::lround(policy.sample_seconds / one_copy)), 1, most_queued);
    std::vector<double> samples;
    const double begin = now();
    while (samples.size() < policy.samples && (samples.empty() || now() < end) && !interrupted())
        samples.push_back(sample(copies));
    if (samples.empty()) throw Prevented("interrupted", "interrupted while it was measured");
    CellResult result;
    result.method = "latched";
    result.visits = {{begin, now(), samples.size()}};
    result.converged = samples.size() == policy.samples;
    result.total = summarise(std::move(samples));
    return result;
}

}  // namespace nearfar
