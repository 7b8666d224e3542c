#include "copy/copy_bench.h"

#include <algorithm>
#include <set>
#include <thread>
#include <utility>

#include "cell/disjoint.h"
#include "cell/sizes.h"
#include "copy/aggressor_process.h"
#include "copy/gpu_task.h"
#include "copy/latched.h"
#include "copy/latency.h"
#include "copy/peer_set.h"
#include "copy/quick.h"
#include "copy/suspects.h"
#include "core/clock.h"
#include "core/error.h"
#include "engine/background.h"
#include "gpu/gpu_call.h"
#include "gpu/lost_gpu.h"
#include "node/cpus.h"

namespace nearfar {
namespace {

constexpr double task_patience = 1.0 / 3;  // of the time after which a cell hangs: a task's own reason comes first

std::vector<int> gpus_of(const std::vector<Cell>& cells) {
    std::set<int> wanted;
    for (const Cell& cell : cells) wanted.merge(gpus_of(cell));
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

// What processes share of a cell; the chunks are not known yet.
std::vector<SharedFlow> shared_flows(const Cell& cell) {
    std::vector<SharedFlow> found;
    for (const Flow& flow : cell.flows)
        if (flow.is_by_processes()) found.push_back({flow, task_buffer_bytes(flow.tasks)});
    return found;
}

}  // namespace

CopyBench::CopyBench(const Node& node, const Nvml& nvml, const Policy& policy, const std::vector<Cell>& cells)
    : node_(node), nvml_(nvml), policy_(policy), cells_(cells), environment_(present_environment()),
      gpus_(find_gpus(node, nvml, start_cuda(most_streams_a_gpu(cells)), policy.even_if_busy)),
      lost_(gpus_, nvml, gpus_of(cells)), watch_(nvml, gpus_),
      tasks_([this](const GpuSet& wanted) { return gpu_task_command(wanted, node_, gpus_, environment_); },
             policy.hang_seconds * task_patience) {}

void CopyBench::plan(const Cell& cell, Buffers& buffers) {
    buffers.plan(cell);
    if (!policy_.latency && policy_.sizes.empty()) tasks_.plan(shared_flows(cell));
}

void CopyBench::set_up(Buffers& buffers, Session& session) {
    for (const Cell& cell : cells_) {
        const bool possible =
            std::all_of(cell.flows.begin(), cell.flows.end(), [this](const Flow& flow) { return is_usable(flow); });
        if (possible) plan(cell, buffers);
    }
    const double start = now();
    tasks_.start();
    std::thread host([&] { buffers.allocate_host(); });
    open_gpus(gpus_, gpus_of(cells_));
    const double opened = now();
    tasks_.open();
    host.join();
    const double allocated = now();
    buffers.allocate_device_and_register();
    const double registered = now();
    tasks_.await_open();
    session.setup_seconds["contexts"] = opened - start;
    session.setup_seconds["host_memory"] = allocated - start;
    session.setup_seconds["register"] = registered - allocated;
    session.setup_seconds["tasks"] = now() - registered;
    watch_.begin(gpus_of(cells_));
}

void CopyBench::measure(Session& session, std::mutex& mutex, const Progress& progress) {
    const std::size_t largest = policy_.sizes.empty() ? 0 : policy_.sizes.back();
    Buffers buffers(node_, gpus_, std::max(buffer_bytes, (largest + buffer_grain - 1) / buffer_grain * buffer_grain));
    PeerAccess peers(gpus_);
    set_up(buffers, session);
    Background background(aggressor_flows(policy_.aggressors, node_, gpus_, environment_, policy_.hang_seconds * task_patience),
                          policy_.hang_seconds / 2);
    const auto alone = [&](const Cell& cell, double seconds) {
        try {
            return measure_beside(background, [&] { return measure_cell(cell, buffers, peers, seconds); });
        } catch (const Failure& why) {
            throw lost_.blame(cell, why);
        }
    };
    background.await_past(now());  // one that cannot start is told with each cell
    if (policy_.quick)
        measure_quickly(buffers, peers, alone, session, mutex, progress);
    else
        measure_in_order(cells_, policy_, now(), session, mutex, progress, alone);
    tasks_.dismiss();
    const std::lock_guard<std::mutex> lock(mutex);
    if (!policy_.latency) session.curves = size_curves(session.results);
    session.gpus_under_load = watch_.seen(gpus_of(cells_));
}

void CopyBench::measure_quickly(Buffers& buffers, PeerAccess& peers, const MeasureCell& alone, Session& session,
                                std::mutex& mutex, const Progress& progress) {
    const Policy usual = policy_;
    const auto lanes = [this](const Flow& flow) { return lanes_between(flow, gpus_); };
    const PeerSetting setting{node_,
                              gpus_,
                              buffers,
                              peers,
                              [this](const Route& route) { return probed_rate(route); },
                              [this](const GpuDevice& gpu) { return watch_.look(gpu); }};
    QuickBench bench;
    bench.alone = [&](const Cell& cell, const Policy& policy, double seconds) {
        policy_ = policy;
        return alone(cell, seconds);
    };
    bench.together = [&](const std::vector<Cell>& cells, const Policy& policy, double seconds) {
        if (!lost_.end_of_process().empty()) {
            SetOutcome none;
            none.trouble = std::make_exception_ptr(Prevented("interrupted", lost_.end_of_process()));
            return std::vector<SetOutcome>(cells.size(), none);
        }
        std::vector<SetOutcome> outcomes = measure_peer_set(cells, setting, policy, seconds);
        for (std::size_t i = 0; i < cells.size(); ++i) outcomes[i].trouble = lost_.blame(cells[i], outcomes[i].trouble);
        return outcomes;
    };
    bench.kind = [&](const Cell& cell) { return kind_of(cell, node_, lanes); };
    // Pairs without NVLink may meet in a PCI bridge or between packages; beside an aggressor every cell is to have it to itself.
    const auto has_own_links = [&](const Flow& flow) { return usual.aggressors.empty() && lanes(flow) > 0; };
    nearfar::measure_quickly(cells_, disjoint_sets(cells_, has_own_links), usual, now(), session, mutex, progress, bench);
    policy_ = usual;
}

bool CopyBench::is_usable(const Flow& flow) const {
    const auto usable = [this](const Endpoint& end) {
        return end.place != Place::gpu_memory || gpus_[static_cast<std::size_t>(end.index)].code.empty();
    };
    return usable(flow.source) && usable(flow.destination);
}

std::vector<CellResult> CopyBench::measure_cell(const Cell& cell, Buffers& buffers, PeerAccess& peers, double seconds) {
    for (const Flow& flow : cell.flows) require_gpus(flow, gpus_);
    lost_.require_process();
    peers.arrange(cell);
    if (policy_.latency) return measure_latencies(cell, buffers, seconds);
    if (can_be_latched(cell)) return measure_latched(cell, buffers, seconds);
    if (!policy_.sizes.empty())
        throw Prevented("unsupported", cell.text() + ": --sizes is for one flow alone on pinned or device memory");
    return {measure_windowed(cell, buffers, seconds)};
}

void CopyBench::add(CellResult& result, const Route& route, const Summary& rate, const std::vector<int>& cpus,
                    const LinkState& link) const {
    result.flows.push_back(flow_result(route, rate, cpus, link, gpus_));
}

std::vector<CellResult> CopyBench::measure_latched(const Cell& cell, Buffers& buffers, double seconds) {
    const FlowBuffers keys = buffers_of(cell)[0];
    const std::vector<Route> routes = policy_.sizes.empty() ? fitting_routes(cell.flows[0], keys, buffers, 1)
                                                            : plan_routes(cell.flows[0], keys, buffers, node_, gpus_, 1);
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
            if (first) link = watch_.look(route.gpu());
        });
        if (outcome.rate.n() < looks.front()) throw Prevented("interrupted", "interrupted while it was measured");
        const double measured = now();
        route.verify(bytes);
        result.verify_seconds += now() - measured;
        result.method = "latched";
        result.bytes = bytes;
        result.converged = outcome.converged;
        result.verified = true;
        result.total = outcome.rate;
        result.begin = outcome.begin;
        result.end = outcome.end;
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
    double begin = now();
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
        result.begin = std::exchange(begin, now());
        result.end = begin;
        add(result, route, time, cpus, {});
        result.flows[0].ceiling.reset();  // of the rate, not of this
        results.push_back(std::move(result));
    };
    keep("latency.copy", 8, copy_latency(route, policy_, share));
    keep("latency.chase", 4, chases_.latency(route, policy_, share));
    keep("latency.launch", 1, launch_latency(route, policy_, share));
    return results;
}

double CopyBench::probed_rate(const Route& route) {
    const auto known = probed_.find(route.flow().text());
    if (known != probed_.end()) return known->second;
    bind_thread(route.cpus());
    return probed_[route.flow().text()] = probe_rate(route, policy_.warm_up_seconds);
}

std::vector<Route> CopyBench::fitting_routes(const Flow& flow, const FlowBuffers& keys, Buffers& buffers, int threads) {
    return nearfar::fitting_routes(flow, keys, buffers, node_, gpus_, threads,
                                   [this](const Route& route) { return probed_rate(route); });
}

Policy CopyBench::window_policy(ChunkLength length) const {
    Policy policy = policy_;
    if (length == ChunkLength::long_one) policy.sample_chunks = (policy.sample_chunks + 1) / 2;
    return policy;
}

const Summary& CopyBench::solo(const Flow& flow, const Buffers& buffers, ChunkLength length, double seconds) {
    const Flow one = flow.alone();
    const auto known = solos_.find({one.text(), length});
    if (known != solos_.end()) return known->second;
    const Cell cell{{one}};
    const std::vector<Route> routes = plan_routes(one, buffers_of(cell)[0], buffers, node_, gpus_, 1);
    const std::size_t chunk = chunk_for(probed_rate(routes[0]), routes[0].bytes(), length);
    return solos_[{one.text(), length}] =
               run_together({window_spec(routes[0], chunk, 0)}, window_policy(length), seconds, nullptr).rates[0];
}

CellResult CopyBench::measure_windowed(const Cell& cell, Buffers& buffers, double seconds) {
    CellResult result;
    result.cell = cell;
    const std::size_t count = cell.flows.size();
    const ChunkLength length = chunk_length(cell);
    const bool has_solos = count > 1 || cell.flows[0].tasks > 1;
    // Baselines that are known already cost nothing; the cell itself may take as long as all that are not.
    const auto unknown = std::count_if(cell.flows.begin(), cell.flows.end(), [&](const Flow& flow) {
        return has_solos && solos_.count({flow.alone().text(), length}) == 0;
    });
    const double share = std::min(policy_.windowed_seconds, unknown > 0 ? seconds / 2 : seconds);
    const double solo_share = unknown > 0 ? std::min(policy_.solo_seconds, seconds / 2 / static_cast<double>(unknown)) : 0;
    const std::vector<FlowBuffers> keys = buffers_of(cell);
    std::vector<std::vector<Route>> routes;  // of each flow: one for each thread that drives it
    std::vector<SharedFlow> shared;          // what processes drive
    std::vector<std::size_t> chunks;
    for (std::size_t i = 0; i < count; ++i) {
        const Flow& flow = cell.flows[i];
        routes.push_back(fitting_routes(flow, keys[i], buffers, flow.is_by_processes() ? 1 : flow.tasks));
        const std::size_t whole = routes[i][0].bytes() / (flow.is_peer_flow() ? peer_factor : 1);
        const std::size_t bytes = flow.is_by_processes() ? task_buffer_bytes(flow.tasks, whole) : routes[i][0].bytes();
        chunks.push_back(chunk_for(probed_rate(routes[i][0]), bytes, length, flow.tasks));
        if (flow.is_by_processes()) shared.push_back({flow, bytes, chunks[i]});
        result.bytes = std::max(result.bytes, chunks[i]);
    }
    const std::vector<std::vector<TaskProcess*>> tasks = tasks_.assign(shared);
    std::vector<Mover> movers;
    auto of_flow = tasks.begin();
    for (std::size_t i = 0; i < count; ++i) {
        if (!cell.flows[i].is_by_processes()) {
            for (const Route& route : routes[i]) movers.push_back(checked_mover(route, chunks[i], i));
            continue;
        }
        for (TaskProcess* process : *of_flow++)
            movers.push_back({{[process](TogetherTask& task) { process->run(task); }, chunks[i], i}, 0, {}, {}});
    }
    // Half of the baselines before the cell and half after: drift then falls on both.
    std::vector<const Summary*> solos(count, nullptr);
    const std::size_t before = has_solos ? (count + 1) / 2 : 0;
    for (std::size_t i = 0; i < before; ++i) solos[i] = &solo(cell.flows[i], buffers, length, solo_share);
    std::map<int, LinkState> links;
    const CheckedOutcome checked = run_checked(movers, window_policy(length), share, [&] {
        for (const Flow& flow : cell.flows)
            if (links.count(flow.driving_gpu()) == 0) links[flow.driving_gpu()] = watch_.look(driving_gpu(flow, gpus_));
    });
    checked.require();
    const TogetherOutcome& outcome = checked.moved;
    result.verify_seconds = checked.verify_seconds;
    result.verified = true;
    for (std::size_t i = before; has_solos && i < count; ++i) solos[i] = &solo(cell.flows[i], buffers, length, solo_share);
    result.method = "windowed";
    result.converged = outcome.converged;
    result.total = outcome.total;
    result.begin = outcome.begin;
    result.end = outcome.end;
    for (std::size_t i = 0, first = 0; i < count; first += static_cast<std::size_t>(cell.flows[i].tasks), ++i) {
        add(result, routes[i][0], outcome.rates[i], outcome.cpus[first], links[cell.flows[i].driving_gpu()]);
        if (cell.flows[i].is_by_processes()) result.flows.back().cpus = routes[i][0].cpus();  // the processes asserted it
        if (solos[i] != nullptr) result.flows.back().solo = *solos[i];
        const auto rates = outcome.task_rates.begin() + static_cast<std::ptrdiff_t>(first);
        if (cell.flows[i].tasks > 1) result.flows.back().tasks = summarise({rates, rates + cell.flows[i].tasks});
    }
    return result;
}

}  // namespace nearfar
