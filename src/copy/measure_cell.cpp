#include "copy/measure_cell.h"

#include <algorithm>
#include <map>
#include <string>

#include "copy/latched.h"
#include "copy/latency.h"
#include "copy/tail.h"
#include "core/clock.h"
#include "core/error.h"
#include "engine/checked_run.h"
#include "gpu/route_plan.h"
#include "gpu/windowed.h"
#include "node/cpus.h"

namespace nearfar {
namespace {

constexpr double warm_again_seconds = 0.05;  // from the second visit on: the link was awake a moment ago

std::vector<CellResult> measure_latched(const Cell& cell, const Policy& policy, double seconds, CopySetting& setting);
CellResult measure_windowed(const Cell& cell, const Policy& policy, double seconds, CopySetting& setting);

}  // namespace

std::vector<CellResult> measure_cell(const Cell& cell, const Policy& policy, double seconds, CopySetting& setting) {
    for (const Flow& flow : cell.flows) require_gpus(flow, setting.gpus);
    setting.peers.arrange(cell);
    if (cell.aspect == Aspect::latency) return measure_latencies(cell, policy, seconds, setting);
    if (cell.aspect == Aspect::tail) return measure_tail(cell, policy, seconds, setting);
    if (can_be_latched(cell)) return measure_latched(cell, policy, seconds, setting);
    if (cell.aspect == Aspect::sizes)
        throw Prevented("unsupported", cell.text() + ": --sizes is for one flow alone on pinned or device memory");
    return {measure_windowed(cell, policy, seconds, setting)};
}

namespace {

// One flow alone: copies of each size behind a latch.
std::vector<CellResult> measure_latched(const Cell& cell, const Policy& policy, double seconds, CopySetting& setting) {
    const FlowBuffers keys = buffers_of(cell)[0];
    const bool at_sizes = cell.aspect == Aspect::sizes;
    std::vector<Route> routes = at_sizes ? plan_routes(cell.flows[0], keys, setting.buffers, setting.node, setting.gpus, 1)
                                         : setting.baselines.fitting_routes(cell.flows[0], keys, 1, policy);
    Route& route = routes[0];
    const std::vector<int> cpus = bind_thread(route.cpus());
    std::vector<std::size_t> sizes = at_sizes ? policy.sizes : std::vector<std::size_t>{route.bytes()};
    std::sort(sizes.rbegin(), sizes.rend());  // the largest wakes the link
    const double share = std::min(seconds / static_cast<double>(sizes.size()), policy.latched_seconds);
    Policy of_size = policy;
    of_size.at_a_size = at_sizes;
    if (setting.round > 0) of_size.warm_up_seconds = std::min(policy.warm_up_seconds, warm_again_seconds);
    if (at_sizes) of_size.sample_seconds /= 2;  // there are many
    std::vector<CellResult> results;
    LinkState link;
    Latch latch(route);
    for (const std::size_t bytes : sizes) {
        if (bytes > route.bytes()) throw Prevented("no_memory", cell.text() + ": a size above its buffers'");
        const double begin = now();
        route.begin_series(bytes, 1);
        LatchedSampler sampler(route, latch, bytes, of_size);
        const double poisoned = now();
        const LatchedSampler::Outcome outcome = sampler.measure(share, !results.empty(), [&] {
            if (results.empty()) link = setting.watch.look(route.gpu());
        });
        const double measured = now();
        CellResult result;
        result.verified = route.verify();
        result.verify_seconds = poisoned - begin + now() - measured;
        result.cell = cell;
        result.method = "latched";
        result.bytes = bytes;
        result.converged = outcome.complete;
        result.visits = {outcome.visit};
        result.total = outcome.rate;
        result.flows.push_back(flow_result(route, outcome.rate, cpus, link, setting.gpus));
        results.push_back(std::move(result));
    }
    std::reverse(results.begin(), results.end());
    return results;
}

// What moves in a window, and the routes that it moves over: of a flow that processes share one that stands for theirs.
struct Window {
    std::vector<std::vector<Route>> routes;
    std::vector<MovingFlow> flows;
};

Window plan_window(const Cell& cell, ChunkLength length, const Policy& policy, CopySetting& setting) {
    Window window;
    const std::vector<FlowBuffers> keys = buffers_of(cell);
    std::vector<SharedFlow> shared;
    for (std::size_t i = 0; i < cell.flows.size(); ++i) {
        const Flow& flow = cell.flows[i];
        if (!flow.is_copy()) {
            window.flows.push_back(setting.beside.of(flow, i));
            continue;
        }
        const int threads = flow.is_by_processes() ? 1 : flow.tasks;
        std::vector<Route>& routes = window.routes.emplace_back(setting.baselines.fitting_routes(flow, keys[i], threads, policy));
        const Route& route = routes[0];
        const std::size_t whole = route.bytes() / (flow.stays_on_gpus() ? on_gpus_factor : 1);
        const std::size_t bytes = flow.is_by_processes() ? task_buffer_bytes(flow.tasks, whole) : route.bytes();
        MovingFlow& moving = window.flows.emplace_back();
        moving.bytes = chunk_for(setting.baselines.probed_rate(route, policy), bytes, length, flow.tasks);
        moving.known = flow_result(route, {}, {}, {}, setting.gpus);
        if (flow.is_by_processes()) {
            shared.push_back({flow, bytes, moving.bytes});
            moving.known.cpus = route.cpus();  // the binding that each asserts
        } else {
            for (Route& each : routes) moving.movers.push_back(checked_mover(each, moving.bytes, i));
        }
    }
    const std::vector<std::vector<TaskProcess*>> processes = setting.tasks.assign(shared);
    auto of_flow = processes.begin();
    for (std::size_t i = 0; i < cell.flows.size(); ++i) {
        if (!cell.flows[i].is_by_processes()) continue;
        MovingFlow& moving = window.flows[i];
        for (TaskProcess* process : *of_flow++) {
            Mover& mover = moving.movers.emplace_back();
            mover.work = {[process](FlowThread& thread) { process->run(thread); }, moving.bytes, i};
            mover.verify = [process] { return process->verified(); };
        }
    }
    return window;
}

// What each flow does alone that is no cell of the run itself. Half of the flows are measured before the cell and half after it: drift
// then falls on both.
class Solos {
public:
    Solos(const Cell& cell, ChunkLength length, const Policy& policy, double seconds, CopySetting& setting)
        : cell_(cell), length_(length), policy_(policy), baselines_(setting.baselines), round_(setting.round),
          are_copies_(std::all_of(cell.flows.begin(), cell.flows.end(), [](const Flow& flow) { return flow.is_copy(); })),
          found_(cell.flows.size(), nullptr) {
        // Those that this round knows already cost nothing; the cell itself may take as long as all that are not.
        const auto unknown = std::count_if(cell.flows.begin(), cell.flows.end(), [&](const Flow& flow) {
            return is_wanted(flow) && !baselines_.has_solo(flow, length, round_);
        });
        // A matrix product of an older GPU takes as long as a hundred chunks of a copy.
        seconds_of_cell_ =
            std::min(are_copies_ ? policy.windowed_seconds : policy.stream_seconds, unknown > 0 ? seconds / 2 : seconds);
        if (unknown > 0)
            seconds_of_each_ =
                std::min(are_copies_ ? policy.solo_seconds : policy.stream_seconds, seconds / 2 / static_cast<double>(unknown));
    }

    double seconds_of_cell() const { return seconds_of_cell_; }
    void measure_first_half() { measure(0, (cell_.flows.size() + 1) / 2); }
    void measure_second_half() { measure((cell_.flows.size() + 1) / 2, cell_.flows.size()); }
    // nullptr: the cell needs none.
    const Summary* of_flow(std::size_t flow) const { return found_[flow]; }

private:
    const Cell& cell_;
    ChunkLength length_;
    const Policy& policy_;
    Baselines& baselines_;
    int round_;
    bool are_copies_;
    std::vector<const Summary*> found_;
    double seconds_of_cell_ = 0;
    double seconds_of_each_ = 0;

    // What a copy keeps beside a kernel is compared in windows alone.
    bool is_wanted(const Flow& flow) const {
        return (cell_.flows.size() > 1 || flow.tasks > 1) && !(are_copies_ && baselines_.is_cell(flow));
    }

    void measure(std::size_t first, std::size_t end) {
        for (std::size_t i = first; i < end; ++i)
            if (is_wanted(cell_.flows[i]))
                found_[i] = &baselines_.solo(cell_.flows[i], length_, policy_, seconds_of_each_, round_);
    }
};

// Several flows, or what cannot be behind a latch: all in one window.
CellResult measure_windowed(const Cell& cell, const Policy& policy, double seconds, CopySetting& setting) {
    const ChunkLength length = chunk_length(cell);
    const Window window = plan_window(cell, length, policy, setting);
    Solos solos(cell, length, policy, seconds, setting);
    solos.measure_first_half();
    std::map<int, LinkState> links;
    CellResult result = measure_window(cell, window.flows, window_policy(policy, length), solos.seconds_of_cell(), [&] {
        for (const Flow& flow : cell.flows)
            if (!flow.is_stream_flow() && links.count(flow.driving_gpu()) == 0)
                links[flow.driving_gpu()] = setting.watch.look(driving_gpu(flow, setting.gpus));
    });
    solos.measure_second_half();
    for (std::size_t i = 0; i < cell.flows.size(); ++i) {
        if (cell.flows[i].is_copy()) result.flows[i].link = links[cell.flows[i].driving_gpu()];
        if (const Summary* solo = solos.of_flow(i)) result.flows[i].solo = *solo;
    }
    return result;
}

}  // namespace
}  // namespace nearfar
