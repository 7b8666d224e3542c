#include "copy/copy_bench.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "cell/disjoint.h"
#include "cell/matrix.h"
#include "cell/sizes.h"
#include "copy/gpu_task.h"
#include "copy/measure_cell.h"
#include "copy/suspects.h"
#include "copy/with_gpus.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/suspension.h"
#include "engine/background.h"
#include "gpu/gpu_call.h"
#include "gpu/open_gpus.h"
#include "gpu/route_plan.h"
#include "gpu/windowed.h"
#include "kernels/gpu_compute/cuda_library.h"
#include "kernels/gpu_stream/gpu_stream_kernels.h"
#include "node/gpu_vendor.h"
#include "tasks/task_pool.h"

namespace nearfar {
namespace {

constexpr double usual_rate = 50;  // GB/s, where no ceiling is known: chunks of aggressors are then somewhat shorter or longer
constexpr double task_patience = 1.0 / 3;  // of the time after which a cell hangs: a task's own reason comes first

int most_streams_a_gpu(const std::vector<Cell>& cells) {
    int most = 1;
    for (const Cell& cell : cells) {
        std::map<int, int> streams;
        for (const Flow& flow : cell.flows)
            if (!flow.is_stream_flow()) most = std::max(most, streams[flow.driving_gpu()] += flow.threads ? flow.tasks : 1);
    }
    return most;
}

// What processes share of a cell; the chunks are not known yet.
std::vector<SharedFlow> shared_flows(const Cell& cell) {
    std::vector<SharedFlow> found;
    for (const Flow& flow : cell.flows)
        if (flow.is_by_processes()) found.push_back({flow, task_buffer_bytes(flow.tasks)});
    return found;
}

// What moves the flows of --aggressor in the background, each task of each a process of its own. Streams of one process that keep one copy
// engine busy are not served in turn, so that an aggressor of this process would stop a cell, or be stopped by it; processes are.
// `environment`: as this process was given it; `patience`: seconds in which a process has to answer.
std::vector<BackgroundFlow> aggressor_flows(const std::vector<Cell>& aggressors, const Node& node,
                                            const std::vector<GpuDevice>& gpus, const std::vector<std::string>& environment,
                                            double patience) {
    const TaskPool::Command command = [&node, &gpus, environment](const GpuSet& wanted) {
        for (const int gpu : wanted) gpus[static_cast<std::size_t>(gpu)].require();
        return gpu_task_command(wanted, node, gpus, environment);
    };
    std::vector<BackgroundFlow> found;
    for (const Cell& cell : aggressors)
        for (const Flow& flow : cell.flows) {
            const std::size_t bytes = task_buffer_bytes(flow.tasks);
            const std::size_t chunk =
                chunk_for(flow_ceiling(flow, gpus).value_or(usual_rate), bytes, ChunkLength::short_one, flow.tasks);
            for (int task = 0; task < flow.tasks; ++task)
                found.push_back(background_process({flow, bytes, chunk}, command, patience));
        }
    return found;
}

}  // namespace

CopyBench::CopyBench(const Node& node, const Policy& policy, const std::vector<Cell>& cells)
    : node_(node), policy_(policy), cells_(cells), environment_(present_environment()), stream_(node),
      arrays_(std::async(std::launch::async, [this] { stream_.make_arrays(cells_); })),
      gpus_(node, policy.even_if_busy, most_streams_a_gpu(cells)),
      tasks_([this](const GpuSet& wanted) { return gpu_task_command(wanted, node_, gpus_.all(), environment_); },
             policy.hang_seconds * task_patience) {}

void CopyBench::plan(const Cell& cell, Buffers& buffers) {
    buffers.plan(cell);
    if (cell.aspect == Aspect::rates) tasks_.plan(shared_flows(cell));
}

void CopyBench::set_up(Buffers& buffers, KernelsBesideCopies& beside, Session& session) {
    std::vector<Flow> products;
    bool has_stream = false;
    for (const Cell& cell : cells_) {
        const bool possible =
            std::all_of(cell.flows.begin(), cell.flows.end(), [this](const Flow& flow) { return is_usable(flow); });
        if (!possible) continue;
        plan(cell, buffers);
        std::copy_if(cell.flows.begin(), cell.flows.end(), std::back_inserter(products),
                     [](const Flow& flow) { return flow.is_compute_flow(); });
        has_stream = has_stream || cell.flows[0].is_gpu_stream_flow();
    }
    arrays_.get();  // what is free is counted for the buffers once these are made
    const double start = now();
    tasks_.start();
    std::future<void> host = std::async(std::launch::async, [&] { buffers.allocate_host(); });
    gpus_.open(gpus_of(cells_));
    for (const GpuDevice& gpu : gpus_.all()) {
        if (!has_stream || !gpu.open) continue;
        check(cudaSetDevice(gpu.ordinal), "cudaSetDevice");
        load_stream_kernels();
    }
    const double opened = now();
    tasks_.open();
    host.get();
    const double allocated = now();
    buffers.allocate_device_and_register();
    const double registered = now();
    tasks_.await_open();
    session.setup_seconds["contexts"] = opened - start;
    session.setup_seconds["host_memory"] = allocated - start;
    session.setup_seconds["register"] = registered - allocated;
    session.setup_seconds["tasks"] = now() - registered;
    if (products.empty()) return;
    const double prepared = now();
    beside.set_up(products);
    session.setup_seconds["beside"] = now() - prepared;
}

void CopyBench::measure(Session& session, const Progress& progress, const std::function<void()>& end) {
    Buffers buffers(node_, gpus_.all(), buffer_bytes, policy_.sizes.empty() ? 0 : policy_.sizes.back());
    PeerAccess peers(gpus_.all());
    KernelsBesideCopies beside(node_, gpus_.all(), stream_);
    set_up(buffers, beside, session);
    Baselines baselines(node_, gpus_.all(), buffers, beside, cells_);
    ChaseBench chases(node_, gpus_.all());
    CopySetting setting{node_, gpus_.all(), buffers, peers, tasks_, gpus_, baselines, chases, beside, 0};
    Background background(
        aggressor_flows(policy_.aggressors, node_, gpus_.all(), environment_, policy_.hang_seconds * task_patience),
        policy_.hang_seconds / 2);
    const auto alone = [&](const Cell& cell, const Policy& policy, double seconds, int round) {
        try {
            setting.round = round;
            for (const Flow& flow : cell.flows)
                require_gpus(flow, gpus_.all());  // a lost one is the cell's failure in every process
            gpus_.require_process();
            std::vector<CellResult> results =
                measure_beside(background, [&] { return measure_cell(cell, policy, seconds, setting); });
            for (const int gpu : gpus_of(cell)) setting.last_used[gpu] = now();
            return results;
        } catch (const Failure& why) {
            throw gpus_.blame(cell, why);
        }
    };
    // What is known beside the results is told with them: a process that dies takes it along.
    const auto note = [&] {
        session.curves = size_curves(session.results);
        session.gpus_under_load = gpus_.under_load();
    };
    const Progress noting = [&](const Step& step) {
        note();
        progress(step);
    };
    background.await_past(now());  // one that cannot start is told with each cell
    const auto together = [&](const std::vector<Cell>& cells, const Policy& policy, double seconds) {
        return measure_together(cells, policy, seconds, setting, session);
    };
    const auto lanes = [this](const Flow& flow) { return lanes_between(flow, gpus_.all()); };
    const auto kind = [&](const Cell& cell) { return kind_of(cell, node_, lanes) + aspect_word(cell.aspect); };
    // Pairs without NVLink may meet in a PCI bridge or between packages; beside an aggressor every cell is to have it to itself.
    const auto has_own_links = [&](const Flow& flow) {
        return !policy_.each_alone && policy_.aggressors.empty() && lanes(flow) > 0;
    };
    const auto doubted = [&](const std::vector<CellResult>& known) {
        std::vector<Figure> figures;
        for (const CellResult& result : known)
            figures.push_back({kind(result.cell), result.total.plateau ? result.total.plateau->value : result.total.median});
        return policy_.quick ? suspects(figures) : below_best(figures);
    };
    const auto sets = policy_.quick ? disjoint_sets(cells_, has_own_links) : company_sets(cells_, has_own_links, kind);
    measure_in_rounds(cells_, sets, policy_, running_time(), session, noting, {alone, together, doubted});
    tasks_.dismiss();
    note();
    end();
}

std::vector<SetOutcome> CopyBench::measure_together(const std::vector<Cell>& cells, const Policy& policy, double seconds,
                                                    CopySetting& setting, Session& session) {
    const auto spent = [&] { return SetOutcome{{}, std::make_exception_ptr(ProcessSpent(gpus_.end_of_process()))}; };
    if (!gpus_.end_of_process().empty()) return std::vector<SetOutcome>(cells.size(), spent());
    std::vector<SetOutcome> outcomes = measure_peer_set(cells, policy, seconds, setting);
    const auto has_trouble = [](const SetOutcome& outcome) { return outcome.trouble != nullptr; };
    const auto troubled = std::count_if(outcomes.begin(), outcomes.end(), has_trouble);
    for (std::size_t i = 0; i < cells.size(); ++i) outcomes[i].trouble = gpus_.blame(cells[i], outcomes[i].trouble);
    if (gpus_.end_of_process().empty() || troubled < 2) return outcomes;
    // Which of them it was shows when each is measured alone; that it happened stands for itself.
    session.failed.push_back({"", "lost",
                              "a GPU was lost while " + step_of(0, 0, cells).words + " were measured together, and " +
                                  gpu_vendor.runtime + " of the process with it: each was measured again alone"});
    std::replace_if(outcomes.begin(), outcomes.end(), has_trouble, spent());
    return outcomes;
}

bool CopyBench::is_usable(const Flow& flow) const {
    const auto usable = [this](const Endpoint& end) {
        return end.place != Place::gpu_memory || gpus_.at(end.index).code.empty();
    };
    return usable(flow.source) && usable(flow.destination);
}

std::string cuda_of_build() { return compiled_cuda_version(); }

void measure_with_gpus(const CommandLine& line, const Node& node, const std::vector<Cell>& cells, Measurement& measurement) {
    const double begin = now();
    require_aggressors(line.policy.aggressors, node);
    CopyBench bench(node, line.policy, cells);
    measurement.session.setup_seconds["driver"] = now() - begin;
    measurement.run.driver = bench.gpus().nvml().driver_version();
    measurement.gpus = bench.gpus().shown();
    bench.measure(measurement.session, measurement.progress, [&] {
        measurement.run.libraries = opened_libraries();
        measurement.end();
    });
}

}  // namespace nearfar
