#include "copy/measure_cell.h"

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <string>

#include "copy/latched.h"
#include "core/clock.h"
#include "core/error.h"
#include "engine/checked_run.h"
#include "gpu/route_plan.h"
#include "gpu/windowed.h"
#include "kernels/gpu_stream/gpu_stream_series.h"
#include "kernels/stream/stream_kernels.h"
#include "node/cpus.h"
#include "node/link_ceiling.h"

namespace nearfar {
namespace {

constexpr double awake_seconds = 1;  // after its last use a GPU's clocks and links are still up
constexpr double warm_again_seconds = 0.05;

std::vector<CellResult> measure_copies(const Cell& cell, const Policy& policy, double seconds, CopySetting& setting);
CellResult measure_passes(const Cell& cell, const Policy& policy, double seconds, CopySetting& setting);
CellResult measure_windowed(const Cell& cell, const Policy& policy, double seconds, CopySetting& setting);

bool is_awake(const Cell& cell, const CopySetting& setting) {
    const std::set<int> gpus = gpus_of(cell);
    return std::all_of(gpus.begin(), gpus.end(), [&](int gpu) {
        const auto used = setting.last_used.find(gpu);
        return used != setting.last_used.end() && now() - used->second < awake_seconds;
    });
}

}  // namespace

std::vector<CellResult> measure_cell(const Cell& cell, const Policy& usual, double seconds, CopySetting& setting) {
    for (const Flow& flow : cell.flows) require_gpus(flow, setting.gpus);
    Policy policy = usual;
    if (is_awake(cell, setting)) policy.warm_up_seconds = std::min(usual.warm_up_seconds, warm_again_seconds);
    setting.peers.arrange(cell);
    if (cell.aspect == Aspect::latency) return measure_latencies(cell, policy, seconds, setting);
    if (cell.aspect == Aspect::tail) return measure_tail(cell, policy, seconds, setting);
    const bool is_stream = cell.flows[0].is_gpu_stream_flow();
    if (can_be_latched(cell) && is_stream) return {measure_passes(cell, policy, seconds, setting)};
    if (can_be_latched(cell)) return measure_copies(cell, policy, seconds, setting);
    if (cell.aspect == Aspect::sizes)
        throw Prevented("unsupported", cell.text() + ": --sizes is for one flow alone on pinned or device memory");
    return {measure_windowed(cell, policy, seconds, setting)};
}

namespace {

// STREAM by a GPU.
GpuStreamSeries series_of(const Flow& flow, const FlowBuffers& keys, const CopySetting& setting) {
    const GpuDevice& gpu = driving_gpu(flow, setting.gpus);
    const GpuDevice& checker = flow.to_gpu() ? setting.gpus[static_cast<std::size_t>(flow.destination.index)] : gpu;
    return {flow, setting.buffers.at(keys.destination), gpu, checker};
}

std::optional<double> stream_ceiling(const Flow& flow, const std::vector<GpuDevice>& gpus) {
    const GpuDevice& gpu = driving_gpu(flow, gpus);
    if (flow.source == flow.destination) return gpu.memory_ceiling();
    const int reads = arrays_read(flow.kernel);
    const int writes = arrays_written(flow.kernel);
    const std::optional<double> link =
        flow.to_gpu() ? nvlink_ceiling(gpu.management.nvlink_generation, lanes_between(flow, gpus)) : gpu.ceiling();
    return kernel_ceiling(reads, writes, link, link);
}

FlowResult stream_result(const GpuStreamSeries& series, const std::vector<GpuDevice>& gpus) {
    FlowResult result;
    result.flow = series.flow();
    result.ceiling = stream_ceiling(series.flow(), gpus);
    result.memory_nodes = series.arrays().memory_nodes;
    return result;
}

// Of one flow alone, behind a latch, in at most `seconds`: a series that `begin` begins, of which each counts `bytes`.
CellResult measure_series(CheckedSeries& series, Latch& latch, std::size_t bytes, const std::function<void()>& begin,
                          const Policy& policy, double seconds, bool is_warm, const std::function<void()>& under_load) {
    const double start = now();
    begin();
    const double poisoned = now();
    series.make_current();
    CellResult result = measure_latched(series, latch, bytes, policy, seconds, is_warm, under_load);
    const double measured = now();
    result.verified = series.verify();
    result.verify_seconds = poisoned - start + now() - measured;
    return result;
}

// Passes of STREAM.
CellResult measure_passes(const Cell& cell, const Policy& policy, double seconds, CopySetting& setting) {
    GpuStreamSeries series = series_of(cell.flows[0], buffers_of(cell)[0], setting);
    FlowResult flow = stream_result(series, setting.gpus);
    flow.cpus = bind_thread(driving_cpus(series.flow(), setting.node, setting.gpus));
    Latch latch(series, policy.latch_seconds);
    CellResult result = measure_series(
        series, latch, series.counted_bytes(), [&] { series.begin(); }, policy, std::min(seconds, policy.latched_seconds), false,
        [&] { flow.link = setting.opened.look(series.gpu()); });
    flow.rate = result.total;
    result.quantity = "stream";
    result.cell = cell;
    result.bytes = series.arrays().bytes;
    result.smaller = series.arrays().smaller;
    result.flows.push_back(std::move(flow));
    return result;
}

// Copies of each size.
std::vector<CellResult> measure_copies(const Cell& cell, const Policy& policy, double seconds, CopySetting& setting) {
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
    if (at_sizes) of_size.sample_seconds /= 2;  // there are many
    std::vector<CellResult> results;
    LinkState link;
    Latch latch(route, policy.latch_seconds);
    for (const std::size_t bytes : sizes) {
        if (bytes > route.bytes()) throw Prevented("no_memory", cell.text() + ": a size above its buffers'");
        CellResult result = measure_series(
            route, latch, bytes, [&] { route.begin_series(bytes, 1); }, of_size, share, !results.empty(),
            [&] {
                if (results.empty()) link = setting.opened.look(route.gpu());
            });
        result.cell = cell;
        result.bytes = bytes;
        result.flows.push_back(flow_result(route, result.total, cpus, link, setting.gpus));
        results.push_back(std::move(result));
    }
    std::reverse(results.begin(), results.end());
    return results;
}

// What moves in a window, and the routes and series that it works through: of a flow that processes share one that stands for theirs.
struct Window {
    std::vector<std::vector<Route>> routes;
    std::deque<GpuStreamSeries> series;
    std::vector<MovingFlow> flows;
};

MovingFlow moving_passes(GpuStreamSeries& series, std::size_t index, const CopySetting& setting) {
    MovingFlow moving;
    moving.known = stream_result(series, setting.gpus);
    moving.bytes = series.arrays().bytes;
    moving.smaller = series.arrays().smaller;
    Mover& mover = moving.movers.emplace_back();
    mover.work = {[&series](FlowThread& thread) { move_chunks(series, thread); }, series.counted_bytes(), index,
                  driving_cpus(series.flow(), setting.node, setting.gpus)};
    mover.poison = [&series] { series.begin(); };
    mover.verify = [&series] { return series.verify(); };
    return moving;
}

Window plan_window(const Cell& cell, ChunkLength length, const Policy& policy, CopySetting& setting) {
    Window window;
    const std::vector<FlowBuffers> keys = buffers_of(cell);
    std::vector<SharedFlow> shared;
    for (std::size_t i = 0; i < cell.flows.size(); ++i) {
        const Flow& flow = cell.flows[i];
        if (flow.is_gpu_stream_flow()) {
            window.flows.push_back(moving_passes(window.series.emplace_back(series_of(flow, keys[i], setting)), i, setting));
            continue;
        }
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

// Several flows, or what cannot be behind a latch: all in one window. Beside it what each flow does alone that is no cell of the run itself:
// half of the flows before the cell and half after it, so that drift falls on both.
CellResult measure_windowed(const Cell& cell, const Policy& policy, double seconds, CopySetting& setting) {
    const ChunkLength length = chunk_length(cell);
    const Window window = plan_window(cell, length, policy, setting);
    const std::size_t count = cell.flows.size();
    const auto is_copy = [](const Flow& flow) { return flow.is_copy(); };
    const bool are_copies = std::all_of(cell.flows.begin(), cell.flows.end(), is_copy);
    const bool has_copies = std::any_of(cell.flows.begin(), cell.flows.end(), is_copy);
    // What a copy keeps beside a kernel is compared in windows alone; STREAM by several has none.
    const auto has_solo = [&](const Flow& flow) {
        return has_copies && (count > 1 || flow.tasks > 1) && !(are_copies && setting.baselines.is_cell(flow));
    };
    // Those that this round knows already cost nothing; the cell itself may take as long as all that are not.
    const auto unknown = std::count_if(cell.flows.begin(), cell.flows.end(), [&](const Flow& flow) {
        return has_solo(flow) && !setting.baselines.has_solo(flow, length, setting.round);
    });
    // A matrix product of an older GPU takes as long as a hundred chunks of a copy.
    const double of_cell =
        std::min(are_copies ? policy.windowed_seconds : policy.stream_seconds, seconds / (unknown > 0 ? 2 : 1));
    const double of_each = std::min(are_copies ? policy.solo_seconds : policy.stream_seconds,
                                    seconds / 2 / static_cast<double>(std::max<std::ptrdiff_t>(1, unknown)));
    std::vector<const Summary*> solos(count, nullptr);
    const auto measure_solos = [&](std::size_t first, std::size_t end) {
        for (std::size_t i = first; i < end; ++i)
            if (has_solo(cell.flows[i]))
                solos[i] = &setting.baselines.solo(cell.flows[i], length, policy, of_each, setting.round);
    };
    measure_solos(0, (count + 1) / 2);
    std::map<int, LinkState> links;
    CellResult result = measure_window(cell, window.flows, window_policy(policy, length), of_cell, [&] {
        for (const Flow& flow : cell.flows)
            if (!flow.is_stream_flow() && links.count(flow.driving_gpu()) == 0)
                links[flow.driving_gpu()] = setting.opened.look(driving_gpu(flow, setting.gpus));
    });
    measure_solos((count + 1) / 2, count);
    for (std::size_t i = 0; i < count; ++i) {
        if (cell.flows[i].is_copy() || cell.flows[i].is_gpu_stream_flow())
            result.flows[i].link = links[cell.flows[i].driving_gpu()];
        if (solos[i] != nullptr) result.flows[i].solo = *solos[i];
    }
    return result;
}

}  // namespace
}  // namespace nearfar
