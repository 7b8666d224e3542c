#include "copy/measure_cell.h"

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

constexpr std::size_t latency_samples = 6;  // they are short
constexpr std::size_t tiny_copy = 8;
constexpr int calls_a_sample = 100;
constexpr double microsecond = 1e-6;
constexpr std::size_t cpus_tried = 4;

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

// Which CPU drives in a round: a few of the cores in turn, because one (a virtual one above all) can cost half as much again as its like.
int cpu_of_round(const std::vector<int>& cpus, const Node& node, int round) {
    std::vector<int> cores = intersection(cpus, node.one_cpu_a_core);
    if (cores.empty()) cores = cpus;
    const std::size_t tried = std::min(cpus_tried, cores.size());
    return cores[static_cast<std::size_t>(round) % tried * cores.size() / tried];
}

// A copy of a few bytes of the flow, from its enqueueing until its completion is seen by the host; by the calling thread.
Summary copy_latency(const Route& route, const Policy& policy, double seconds) {
    route.make_current();
    return take_samples(policy, seconds, [&] { return completion_time(route.stream(), [&] { route.queue_copy(tiny_copy); }); });
}

// An empty kernel, likewise.
Summary launch_latency(const Route& route, const Policy& policy, double seconds) {
    route.make_current();
    return take_samples(policy, seconds, [&] { return completion_time(route.stream(), [&] { queue_nothing(route.stream()); }); });
}

}  // namespace

Summary take_samples(const Policy& policy, double seconds, const std::function<double()>& sample) {
    const double end = now() + seconds;
    sample();  // warm-up
    std::vector<double> samples;
    while (samples.size() < policy.samples && (samples.empty() || now() < end) && !interrupted()) samples.push_back(sample());
    if (samples.empty()) throw Prevented("interrupted", "interrupted while it was measured");
    return summarise(std::move(samples));
}

std::vector<CellResult> measure_latencies(const Cell& cell, const Policy& usual, double seconds, CopySetting& setting) {
    if (!can_be_latched(cell) || cell.flows[0].sm)
        throw Prevented("unsupported",
                        cell.text() + ": --latency is for one flow alone, by a copy engine, on pinned or device memory");
    const std::vector<Route> routes =
        plan_routes(cell.flows[0], buffers_of(cell)[0], setting.buffers, setting.node, setting.gpus, 1);
    const Route& route = routes[0];
    Policy policy = usual;
    policy.samples = latency_samples;
    const std::vector<int> cpus = bind_thread({cpu_of_round(route.cpus(), setting.node, setting.round)});
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
        result.converged = time.n() == policy.samples;
        const double end = now();
        result.visits = {{std::exchange(begin, end), end, time.n()}};
        result.total = time;
        result.flows.push_back(flow_result(route, time, cpus, {}, setting.gpus));
        result.flows[0].ceiling.reset();  // of the rate, not of this
        result.flows[0].tried = {{cpus, time.median}};
        results.push_back(std::move(result));
    };
    keep("latency.copy", tiny_copy, copy_latency(route, policy, share));
    keep("latency.chase", sizeof(std::uint32_t), setting.chases.latency(route, policy, share));
    keep("latency.launch", 1, launch_latency(route, policy, share));
    return results;
}

}  // namespace nearfar
