#include "flow/copy_bench.h"

#include <algorithm>
#include <set>
#include <thread>

#include "flow/clock.h"
#include "flow/cpus.h"
#include "flow/error.h"
#include "flow/gpu_call.h"
#include "flow/latched.h"

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

// Waiting for the stream while the queue is filled would deadlock behind a latch.
bool can_be_latched(const Cell& cell) {
    return cell.flows.size() == 1 && !cell.flows[0].pageable && !cell.flows[0].staged && cell.flows[0].tasks == 1;
}

int driver_of(const Flow& flow) { return flow.driver ? flow.driver->index : flow.numa_node(); }

void add(CellResult& result, const Route& route, const Summary& rate, const std::vector<int>& cpus, const LinkState& link) {
    FlowResult flow;
    flow.flow = route.flow();
    flow.rate = rate;
    flow.ceiling = route.gpu().ceiling(route.flow().to_gpu());
    flow.cpus = cpus;
    flow.memory_nodes = route.memory_nodes();
    flow.link = link;
    result.flows.push_back(flow);
}

}  // namespace

CopyBench::CopyBench(const Node& node, const Nvml& nvml, const Policy& policy)
    : node_(node), nvml_(nvml), policy_(policy), gpus_(find_gpus(node, nvml, start_cuda(), policy.even_if_busy)) {}

void CopyBench::set_up(const std::vector<Cell>& cells, Buffers& buffers, Session& session) {
    for (const Cell& cell : cells) {
        const bool possible = std::all_of(cell.flows.begin(), cell.flows.end(), [this](const Flow& flow) {
            return flow.is_host_flow() && gpus_[static_cast<std::size_t>(flow.gpu())].code.empty();
        });
        if (possible) buffers.plan(cell);
    }
    const double start = now();
    std::thread host([&] { buffers.allocate_host(); });
    open_gpus(gpus_, gpus_of(cells));
    const double opened = now();
    host.join();
    const double allocated = now();
    buffers.allocate_device_and_register();
    session.setup_seconds["contexts"] = opened - start;
    session.setup_seconds["host_memory"] = allocated - start;
    session.setup_seconds["register"] = now() - allocated;
    for (const int gpu : gpus_of(cells))
        if (const auto count = nvml_.replays(gpus_[static_cast<std::size_t>(gpu)].on_bus.pci)) replays_before_[gpu] = *count;
}

void CopyBench::measure(const std::vector<Cell>& cells, Session& session, std::mutex& mutex, const Progress& progress) {
    Buffers buffers(node_, gpus_);
    set_up(cells, buffers, session);
    measure_in_order(cells, policy_, now(), session, mutex, progress,
                     [&](const Cell& cell, double seconds) { return measure_cell(cell, buffers, seconds); });
    const std::lock_guard<std::mutex> lock(mutex);
    session.gpus_under_load = gpus_under_load(gpus_of(cells));
    for (GpuUnderLoad& gpu : session.gpus_under_load)
        for (const CellResult& result : session.results)
            for (const FlowResult& flow : result.flows)
                if (flow.flow.gpu() == gpu.gpu && flow.link.gen) gpu.link = flow.link;
}

std::vector<GpuUnderLoad> CopyBench::gpus_under_load(const std::vector<int>& wanted) const {
    std::vector<GpuUnderLoad> found;
    for (const int index : wanted) {
        const std::string& pci = gpus_[static_cast<std::size_t>(index)].on_bus.pci;
        GpuUnderLoad gpu;
        gpu.gpu = index;
        gpu.throttle = nvml_.throttle_reasons(pci);
        const auto before = replays_before_.find(index);
        const auto after = nvml_.replays(pci);
        if (before != replays_before_.end() && after) gpu.replays = *after - before->second;
        gpu.uncorrected_errors = nvml_.uncorrected_errors(pci);
        found.push_back(gpu);
    }
    return found;
}

CellResult CopyBench::measure_cell(const Cell& cell, const Buffers& buffers, double seconds) {
    CellResult result;
    result.cell = cell;
    for (const Flow& flow : cell.flows) {
        if (!flow.is_host_flow()) throw Prevented("unsupported", flow.text() + ": flows between GPUs are not measured yet");
        gpus_[static_cast<std::size_t>(flow.gpu())].require();
    }
    if (can_be_latched(cell))
        measure_latched(cell, buffers, std::min(seconds, policy_.latched_seconds), result);
    else
        measure_windowed(cell, buffers, std::min(seconds, policy_.windowed_seconds), result);
    return result;
}

std::vector<Route> CopyBench::routes_for(const Flow& flow, const FlowBuffers& keys, const Buffers& buffers) const {
    const std::vector<int> cpus = node_.driving_cpus(driver_of(flow));
    std::vector<Route> routes;
    for (int task = 0; task < flow.tasks; ++task)
        routes.emplace_back(flow, keys, buffers, gpus_[static_cast<std::size_t>(flow.gpu())], cpus, task, flow.tasks);
    return routes;
}

void CopyBench::measure_latched(const Cell& cell, const Buffers& buffers, double seconds, CellResult& result) {
    const std::vector<Route> routes = routes_for(cell.flows[0], buffers_of(cell)[0], buffers);
    const Route& route = routes[0];
    const std::vector<int> cpus = bind_thread(route.cpus());
    route.make_current();
    const double poisoned = now();
    route.poison();
    result.verify_seconds = now() - poisoned;
    LinkState link;
    LatchedSampler sampler(route, policy_);
    const LatchedSampler::Outcome outcome =
        sampler.measure(seconds, [&] { link = nvml_.present_link(route.gpu().on_bus.pci); });
    if (outcome.rate.samples.empty()) throw Prevented("interrupted", "interrupted while it was measured");
    const double measured = now();
    route.verify(route.bytes());
    result.verify_seconds += now() - measured;
    result.method = "latched";
    result.bytes = route.bytes();
    result.converged = outcome.converged;
    result.verified = true;
    result.total = outcome.rate;
    add(result, route, outcome.rate, cpus, link);
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
    const std::vector<Route> routes = routes_for(one, buffers_of(cell)[0], buffers);
    const WindowTask task{&routes[0], chunk_for(probed_rate(routes[0]), routes[0].bytes()), 0};
    return solos_[one.text()] = run_window({task}, policy_, seconds, nullptr).rates[0];
}

void CopyBench::measure_windowed(const Cell& cell, const Buffers& buffers, double seconds, CellResult& result) {
    const bool has_solos = cell.flows.size() > 1 || cell.flows[0].tasks > 1;
    const double share = seconds / static_cast<double>(has_solos ? 1 + cell.flows.size() : 1);
    const std::vector<FlowBuffers> keys = buffers_of(cell);
    std::vector<std::vector<Route>> routes;
    std::vector<WindowTask> tasks;
    for (std::size_t i = 0; i < cell.flows.size(); ++i) routes.push_back(routes_for(cell.flows[i], keys[i], buffers));
    for (std::size_t i = 0; i < routes.size(); ++i) {
        const double rate = probed_rate(routes[i][0]);
        for (const Route& route : routes[i]) {
            tasks.push_back({&route, chunk_for(rate, route.bytes()), i});
            const double poisoned = now();
            route.make_current();
            route.poison();
            result.verify_seconds += now() - poisoned;
            result.bytes = std::max(result.bytes, tasks.back().chunk);
        }
    }
    std::map<int, LinkState> links;
    // Half of the baselines before the cell and half after: drift then falls on both.
    std::vector<const Summary*> solos(cell.flows.size(), nullptr);
    const std::size_t before = has_solos ? (cell.flows.size() + 1) / 2 : 0;
    for (std::size_t i = 0; i < before; ++i) solos[i] = &solo(cell.flows[i], buffers, share);
    const TogetherOutcome outcome = run_window(tasks, policy_, share, [&] {
        for (const Flow& flow : cell.flows)
            if (links.count(flow.gpu()) == 0)
                links[flow.gpu()] = nvml_.present_link(gpus_[static_cast<std::size_t>(flow.gpu())].on_bus.pci);
    });
    const double measured = now();
    for (std::size_t i = 0; i < tasks.size(); ++i) {
        tasks[i].route->make_current();
        tasks[i].route->verify(std::min(tasks[i].route->bytes() / tasks[i].chunk * tasks[i].chunk, outcome.moved[i]));
    }
    result.verify_seconds += now() - measured;
    for (std::size_t i = before; has_solos && i < cell.flows.size(); ++i) solos[i] = &solo(cell.flows[i], buffers, share);
    result.method = "windowed";
    result.converged = outcome.converged;
    result.verified = true;
    result.total = outcome.total;
    for (std::size_t i = 0; i < tasks.size(); ++i) {
        if (result.flows.size() > tasks[i].flow) continue;
        const std::size_t flow = tasks[i].flow;
        add(result, *tasks[i].route, outcome.rates[flow], outcome.cpus[i], links[cell.flows[flow].gpu()]);
        if (solos[flow] != nullptr) result.flows.back().solo = *solos[flow];
        if (cell.flows[flow].tasks > 1) {
            const auto first = outcome.task_rates.begin() + static_cast<std::ptrdiff_t>(i);
            result.flows.back().tasks = summarise({first, first + cell.flows[flow].tasks});
        }
    }
}

}  // namespace nearfar
