#include "copy/latency.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>

#include "copy/latched.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/interrupt.h"
#include "gpu/gpu_call.h"
#include "gpu/gpu_kernels.h"
#include "gpu/route_plan.h"
#include "node/cpus.h"

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

// A copy of a few bytes of the flow, from its enqueueing until its completion is seen by the host; by the calling thread.
Summary copy_latency(const Route& route, const Policy& policy, double seconds) {
    route.make_current();
    return sample_until_narrow(policy, seconds,
                               [&] { return completion_time(route.stream(), [&] { route.queue_copy(tiny_copy); }); });
}

// An empty kernel, likewise.
Summary launch_latency(const Route& route, const Policy& policy, double seconds) {
    route.make_current();
    return sample_until_narrow(policy, seconds,
                               [&] { return completion_time(route.stream(), [&] { queue_nothing(route.stream()); }); });
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

std::vector<CellResult> measure_latencies(const Cell& cell, const Policy& policy, double seconds, CopySetting& setting) {
    if (!can_be_latched(cell) || cell.flows[0].sm)
        throw Prevented("unsupported",
                        cell.text() + ": --latency is for one flow alone, by a copy engine, on pinned or device memory");
    const std::vector<Route> routes =
        plan_routes(cell.flows[0], buffers_of(cell)[0], setting.buffers, setting.node, setting.gpus, 1);
    const Route& route = routes[0];
    const std::vector<int> cpus = bind_thread(route.cpus());
    const double share = std::min(seconds / 3, policy.latched_seconds);
    std::vector<CellResult> results;
    double begin = now();
    const auto keep = [&](const char* quantity, std::size_t bytes, const Summary& time) {
        CellResult result;
        result.quantity = quantity;
        result.unit = "us";
        result.cell = cell;
        result.bytes = bytes;
        result.method = quantity;
        result.converged = time.half_width() <= policy.target;
        result.total = time;
        result.begin = std::exchange(begin, now());
        result.end = begin;
        result.flows.push_back(flow_result(route, time, cpus, {}, setting.gpus));
        result.flows[0].ceiling.reset();  // of the rate, not of this
        results.push_back(std::move(result));
    };
    keep("latency.copy", tiny_copy, copy_latency(route, policy, share));
    keep("latency.chase", sizeof(std::uint32_t), setting.chases.latency(route, policy, share));
    keep("latency.launch", 1, launch_latency(route, policy, share));
    return results;
}

}  // namespace nearfar
