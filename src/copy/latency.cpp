#include "copy/latency.h"

#include <algorithm>
#include <functional>

#include "core/clock.h"
#include "core/error.h"
#include "core/interrupt.h"
#include "gpu/gpu_call.h"
#include "gpu/gpu_kernels.h"

namespace nearfar {
namespace {

constexpr std::size_t tiny_copy = 8;
constexpr int calls_a_sample = 300;
constexpr double microsecond = 1e-6;

// Time of one call, from enqueueing to completion, in microseconds: the median over a batch, which waking up rarely disturbs.
double completion_time(cudaStream_t stream, const std::function<void()>& enqueue) {
    std::vector<double> times(calls_a_sample);
    for (double& time : times) {
        const double start = now();
        enqueue();
        check(cudaStreamSynchronize(stream), "waiting for completion");
        time = (now() - start) / microsecond;
    }
    std::nth_element(times.begin(), times.begin() + calls_a_sample / 2, times.end());
    return times[calls_a_sample / 2];
}

}  // namespace

Summary sample_until_narrow(const Policy& policy, double seconds, const std::function<double()>& sample) {
    const double end = now() + seconds;
    sample();  // warm-up
    std::vector<double> samples;
    for (const std::size_t look : looks) {
        while (samples.size() < look && (samples.size() < looks.front() || now() < end) && !interrupted())
            samples.push_back(sample());
        if (samples.size() < look || summarise(samples).half_width() <= policy.target) break;
    }
    if (samples.size() < looks.front()) throw Prevented("interrupted", "interrupted while it was measured");
    return summarise(samples);
}

Summary copy_latency(const Route& route, const Policy& policy, double seconds) {
    route.make_current();
    return sample_until_narrow(policy, seconds,
                               [&] { return completion_time(route.stream(), [&] { route.queue_copy(tiny_copy); }); });
}

Summary launch_latency(const Route& route, const Policy& policy, double seconds) {
    route.make_current();
    return sample_until_narrow(policy, seconds,
                               [&] { return completion_time(route.stream(), [&] { queue_nothing(route.stream()); }); });
}

}  // namespace nearfar
