#include "flow/copy_bench.h"

#include <algorithm>
#include <set>
#include <thread>

#include "flow/clock.h"
#include "flow/cpus.h"
#include "flow/error.h"
#include "flow/gpu_call.h"
#include "flow/latched.h"
#include "flow/latency.h"
#include "flow/sizes.h"

namespace nearfar {
namespace {

std::vector<int> gpus_of(const std::vector<Cell>& cells) {
    std::set<int> wanted;
    for (const Cell& cell : cells)
        for (const Flow& flow : cell.flows)
            for (const Endpoint& end : {flow.source, flow.destination})
                if (end.place == Place::gpu_memory) wanted.insert(end.index);
    return {wanted.begin(), wanted.end()};
}

int most_streams_a_gpu(const std::vector<Cell>& cells) {
    int most = 1;
    for (const Cell& cell : cells) {
        std::map<int, int> streams;
        for (const Flow& flow : cell.flows) most = std::max(most, streams[flow.driving_gpu()] += flow.threads ? flow.tasks : 1);
    }
    return most;
}

// Waiting for the stream while the queue is filled would deadlock behind a latch.
bool can_be_latched(const Cell& cell) {
    return cell.flows.size() == 1 && !cell.flows[0].pageable && !cell.flows[0].staged && cell.flows[0].tasks == 1;
}

// Throws Failure where what the routes of one flow moved is wrong; `first` is the first route's place in the outcome.
void verify(const std::vector<Route>& routes, std::size_t chunk, const TogetherOutcome& outcome, std::size_t first) {
    for (std::size_t i = 0; i < routes.size(); ++i) {
        routes[i].verify(std::min(routes[i].bytes() / chunk * chunk, outcome.moved[first + i]));
    }
}

}  // namespace

CopyBench::CopyBench(const Node& node, const Nvml& nvml, const Policy& policy, const std::vector<Cell>& cells)
    : node_(node), nvml_(nvml), policy_(policy), cells_(cells),
      gpus_(find_gpus(node, nvml, start_cuda(most_streams_a_gpu(cells)), policy.even_if_busy)) {}

void CopyBench::set_up(Buffers& buffers, Session& session) {
    for (const Cell& cell : cells_) {
        const bool possible =
            std::all_of(cell.flows.begin(), cell.flows.end(), [this](const Flow& flow) { return is_usable(flow); });
        if (possible) buffers.plan(cell);
    }
    const double start = now();
    std::thread host([&] { buffers.allocate_host(); });
    open_gpus(gpus_, gpus_of(cells_));
    const double opened = now();
    host.join();
    const double allocated = now();
    buffers.allocate_device_and_register();
    session.setup_seconds["contexts"] = opened - start;
    session.setup_seconds["host_memory"] = allocated - start;
    session.setup_seconds["register"] = now() - allocated;
    for (const int gpu : gpus_of(cells_))
        if (const auto count = nvml_.replays(gpus_[static_cast<std::size_t>(gpu)].on_bus.pci)) replays_before_[gpu] = *count;
}

void CopyBench::measure(Session& session, std::mutex& mutex, const Progress& progress) {
    const std::size_t largest = policy_.sizes.empty() ? 0 : policy_.sizes.back();
    Buffers buffers(node_, gpus_, std::max(buffer_bytes, (largest + buffer_grain - 1) / buffer_grain * buffer_grain));
    PeerAccess peers(gpus_);
    set_up(buffers, session);
    measure_in_order(cells_, policy_, now(), session, mutex, progress,
                     [&](const Cell& cell, double seconds) { return measure_cell(cell, buffers, peers, seconds); });
    const std::lock_guard<std::mutex> lock(mutex);
    if (!policy_.latency) session.curves = size_curves(session.results);
    session.gpus_under_load = gpus_under_load(gpus_of(cells_));
}

LinkState CopyBench::look_under_load(const GpuDevice& gpu) {
    GpuUnderLoad& load = loads_[gpu.index];
    load.link = nvml_.present_link(gpu.on_bus.pci);
    for (const std::string& reason : nvml_.throttle_reasons(gpu.on_bus.pci))
        if (std::find(load.throttle.begin(), load.throttle.end(), reason) == load.throttle.end()) load.throttle.push_back(reason);
    return load.link;
}

std::vector<GpuUnderLoad> CopyBench::gpus_under_load(const std::vector<int>& wanted) const {
    std::vector<GpuUnderLoad> found;
    for (const int index : wanted) {
        const std::string& pci = gpus_[static_cast<std::size_t>(index)].on_bus.pci;
        const auto seen = loads_.find(index);
        GpuUnderLoad gpu = seen == loads_.end() ? GpuUnderLoad{} : seen->second;
        gpu.gpu = index;
        const auto before = replays_before_.find(index);
        const auto after = nvml_.replays(pci);
        if (before != replays_before_.end() && after) gpu.replays = *after - before->second;
        gpu.uncorrected_errors = nvml_.uncorrected_errors(pci);
        found.push_back(gpu);
    }
    return found;
}

bool CopyBench::is_usable(const Flow& flow) const {
    const auto usable = [this](const Endpoint& end) {
        return end.place != Place::gpu_memory || gpus_[static_cast<std::size_t>(end.index)].code.empty();
    };
    return usable(flow.source) && usable(flow.destination);
}

std::vector<CellResult> CopyBench::measure_cell(const Cell& cell, const Buffers& buffers, PeerAccess& peers, double seconds) {
    for (const Flow& flow : cell.flows) require_gpus(flow, gpus_);
    peers.arrange(cell);
    if (policy_.latency) return measure_latencies(cell, buffers, seconds);
    if (can_be_latched(cell)) return measure_latched(cell, buffers, seconds);
    if (!policy_.sizes.empty())
        throw Prevented("unsupported", cell.text() + ": --sizes is for one flow alone on pinned or device memory");
    return {measure_windowed(cell, buffers, seconds)};
}

void CopyBench::add(CellResult& result, const Route& route, const Summary& rate, const std::vector<int>& cpus,
                    const LinkState& link) const {
    FlowResult flow;
    flow.flow = route.flow();
    flow.rate = rate;
    flow.ceiling = flow_ceiling(route.flow(), gpus_);
    flow.cpus = cpus;
    flow.memory_nodes = route.memory_nodes();
    flow.link = link;
    result.flows.push_back(flow);
}

std::vector<CellResult> CopyBench::measure_latched(const Cell& cell, const Buffers& buffers, double seconds) {
    const std::vector<Route> routes = plan_routes(cell.flows[0], buffers_of(cell)[0], buffers, node_, gpus_, 1);
    const Route& route = routes[0];
    const std::vector<int> cpus = bind_thread(route.cpus());
    const std::vector<std::size_t> sizes = policy_.sizes.empty() ? std::vector<std::size_t>{route.bytes()} : policy_.sizes;
    std::vector<CellResult> results;
    LinkState link;
    for (const std::size_t bytes : sizes) {
        if (bytes > route.bytes()) throw Prevented("no_memory", cell.text() + ": a size above its buffers'");
        const double poisoned = now();
        route.poison();
        CellResult result;
        result.cell = cell;
        result.verify_seconds = now() - poisoned;
        route.make_current();
        LatchedSampler sampler(route, bytes, policy_);
        const double share = std::min(seconds / static_cast<double>(sizes.size()), policy_.latched_seconds);
        const bool first = results.empty();
        const LatchedSampler::Outcome outcome = sampler.measure(share, [&] {
            if (first) link = look_under_load(route.gpu());
        });
        if (outcome.rate.samples.empty()) throw Prevented("interrupted", "interrupted while it was measured");
        const double measured = now();
        route.verify(bytes);
        result.verify_seconds += now() - measured;
        result.method = "latched";
        result.bytes = bytes;
        result.converged = outcome.converged;
        result.verified = true;
        result.total = outcome.rate;
        add(result, route, outcome.rate, cpus, link);
        results.push_back(std::move(result));
    }
    return results;
}

std::vector<CellResult> CopyBench::measure_latencies(const Cell& cell, const Buffers& buffers, double seconds) {
    if (!can_be_latched(cell) || cell.flows[0].sm)
        throw Prevented("unsupported",
                        cell.text() + ": --latency is for one flow alone, by a copy engine, on pinned or device memory");
    const std::vector<Route> routes = plan_routes(cell.flows[0], buffers_of(cell)[0], buffers, node_, gpus_, 1);
    const Route& route = routes[0];
    const std::vector<int> cpus = bind_thread(route.cpus());
    const double share = std::min(seconds / 3, policy_.latched_seconds);
    std::vector<CellResult> results;
    const auto keep = [&](const char* quantity, std::size_t bytes, const Summary& time) {
        CellResult result;
        result.quantity = quantity;
        result.unit = "us";
        result.cell = cell;
        result.bytes = bytes;
        result.method = quantity;
        result.converged = time.half_width() <= policy_.target;
        result.verified = true;
        result.total = time;
        add(result, route, time, cpus, {});
        result.flows[0].ceiling.reset();  // of the rate, not of this
        results.push_back(std::move(result));
    };
    keep("latency.copy", 8, copy_latency(route, policy_, share));
    keep("latency.chase", 4, chase_latency(route, node_, gpus_, policy_, share));
    keep("latency.launch", 1, launch_latency(route, policy_, share));
    return results;
}

double CopyBench::probed_rate(const Route& route) {
    const auto known = probed_.find(route.flow().text());
    if (known != probed_.end()) return known->second;
    bind_thread(route.cpus());
    return probed_[route.flow().text()] = probe_rate(route, policy_.warm_up_seconds);
}

const Summary& CopyBench::solo(const Flow& flow, const Buffers& buffers, double seconds) {
    const Flow one = flow.alone();
    const auto known = solos_.find(one.text());
    if (known != solos_.end()) return known->second;
    const Cell cell{{one}};
    const std::vector<Route> routes = plan_routes(one, buffers_of(cell)[0], buffers, node_, gpus_, 1);
    const std::size_t chunk = chunk_for(probed_rate(routes[0]), routes[0].bytes());
    return solos_[one.text()] = run_together({window_spec(routes[0], chunk, 0)}, policy_, seconds, nullptr).rates[0];
}

std::vector<TaskProcess> CopyBench::start_processes(const Flow& flow, std::size_t chunk) const {
    std::vector<TaskProcess> processes;
    processes.reserve(static_cast<std::size_t>(flow.tasks));
    for (int task = 0; task < flow.tasks; ++task) processes.emplace_back(flow, chunk, gpus_);
    for (TaskProcess& process : processes) process.await_ready();
    return processes;
}

CellResult CopyBench::measure_windowed(const Cell& cell, const Buffers& buffers, double seconds) {
    CellResult result;
    result.cell = cell;
    const std::size_t count = cell.flows.size();
    const bool has_solos = count > 1 || cell.flows[0].tasks > 1;
    // Baselines that are known already cost nothing; the cell itself may take as long as all that are not.
    const auto unknown = std::count_if(cell.flows.begin(), cell.flows.end(),
                                       [&](const Flow& flow) { return has_solos && solos_.count(flow.alone().text()) == 0; });
    const double share = std::min(policy_.windowed_seconds, unknown > 0 ? seconds / 2 : seconds);
    const double solo_share = unknown > 0 ? std::min(policy_.solo_seconds, seconds / 2 / static_cast<double>(unknown)) : 0;
    const std::vector<FlowBuffers> keys = buffers_of(cell);
    std::vector<std::vector<Route>> routes;           // of each flow: one for each thread that drives it
    std::vector<std::vector<TaskProcess>> processes;  // of each flow: its tasks, where they are processes
    std::vector<TogetherSpec> specs;
    for (std::size_t i = 0; i < count; ++i) {
        const Flow& flow = cell.flows[i];
        const bool by_processes = flow.tasks > 1 && !flow.threads;
        routes.push_back(plan_routes(flow, keys[i], buffers, node_, gpus_, by_processes ? 1 : flow.tasks));
        const std::size_t bytes = by_processes ? task_buffer_bytes(flow.tasks) : routes[i][0].bytes();
        const std::size_t chunk = chunk_for(probed_rate(routes[i][0]), bytes);
        result.bytes = std::max(result.bytes, chunk);
        processes.push_back(by_processes ? start_processes(flow, chunk) : std::vector<TaskProcess>{});
        for (TaskProcess& process : processes[i])
            specs.push_back({[&process](TogetherTask& task) { process.run(task); }, chunk, i});
        if (by_processes) continue;
        for (const Route& route : routes[i]) specs.push_back(window_spec(route, chunk, i));
    }
    // Half of the baselines before the cell and half after: drift then falls on both.
    std::vector<const Summary*> solos(count, nullptr);
    const std::size_t before = has_solos ? (count + 1) / 2 : 0;
    for (std::size_t i = 0; i < before; ++i) solos[i] = &solo(cell.flows[i], buffers, solo_share);
    // After the baselines, which leave the right data in the same buffers.
    const double poisoned = now();
    for (std::size_t i = 0; i < count; ++i)
        if (processes[i].empty())
            for (const Route& route : routes[i]) route.poison();
    result.verify_seconds += now() - poisoned;
    std::map<int, LinkState> links;
    const TogetherOutcome outcome = run_together(specs, policy_, share, [&] {
        for (const Flow& flow : cell.flows)
            if (links.count(flow.driving_gpu()) == 0) links[flow.driving_gpu()] = look_under_load(driving_gpu(flow, gpus_));
    });
    // Before anything else writes into the same buffers.
    const double begin = now();
    for (std::size_t i = 0, first = 0; i < count; first += static_cast<std::size_t>(cell.flows[i].tasks), ++i)
        if (processes[i].empty()) verify(routes[i], specs[first].chunk, outcome, first);
    result.verify_seconds += now() - begin;
    result.verified = true;
    for (std::size_t i = before; has_solos && i < count; ++i) solos[i] = &solo(cell.flows[i], buffers, solo_share);
    result.method = "windowed";
    result.converged = outcome.converged;
    result.total = outcome.total;
    for (std::size_t i = 0, first = 0; i < count; first += static_cast<std::size_t>(cell.flows[i].tasks), ++i) {
        add(result, routes[i][0], outcome.rates[i], outcome.cpus[first], links[cell.flows[i].driving_gpu()]);
        if (!processes[i].empty()) result.flows.back().cpus = routes[i][0].cpus();  // the processes asserted it
        if (solos[i] != nullptr) result.flows.back().solo = *solos[i];
        const auto rates = outcome.task_rates.begin() + static_cast<std::ptrdiff_t>(first);
        if (cell.flows[i].tasks > 1) result.flows.back().tasks = summarise({rates, rates + cell.flows[i].tasks});
    }
    return result;
}

}  // namespace nearfar
