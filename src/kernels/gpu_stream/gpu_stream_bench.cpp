// STREAM by GPUs: on their own memory, on another GPU's, on the host's.
#include <algorithm>
#include <map>

#include "copy/latched.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/suspension.h"
#include "engine/checked_run.h"
#include "gpu/document_gpus.h"
#include "gpu/gpu_call.h"
#include "gpu/load_watch.h"
#include "gpu/lost_gpu.h"
#include "gpu/peer_access.h"
#include "gpu/route_plan.h"
#include "gpu/windowed.h"
#include "kernels/gpu_stream/gpu_stream.h"
#include "kernels/gpu_stream/gpu_stream_arrays.h"
#include "kernels/gpu_stream/gpu_stream_kernels.h"
#include "kernels/gpu_stream/gpu_stream_series.h"
#include "kernels/stream/stream_kernels.h"
#include "node/cpus.h"
#include "node/link_ceiling.h"

namespace nearfar {
namespace {

class GpuStreamBench {
public:
    // Starts CUDA for these cells, which measure() measures.
    GpuStreamBench(const Node& node, const Nvml& nvml, const Policy& policy, const std::vector<Cell>& cells)
        : node_(node), policy_(policy), cells_(cells), gpus_(find_gpus(node, nvml, start_cuda(1), policy.even_if_busy)),
          lost_(gpus_, nvml, gpus_of(cells)), watch_(nvml, gpus_) {}

    const std::vector<GpuDevice>& gpus() const { return gpus_; }

    // Measures the cells, and those of cores, in rounds into `session`. `end` is called when all were, before anything is taken down.
    void measure(const CoreCells& of_cores, Session& session, const Progress& progress, const std::function<void()>& end) {
        GpuStreamMemory memory(node_, gpus_);
        PeerAccess peers(gpus_);
        set_up(memory, session);
        const auto alone = [&](const Cell& cell, double seconds, int) {
            if (cell.flows[0].is_stream_flow()) return of_cores.measure(cell, seconds);
            try {
                for (const Flow& flow : cell.flows) require_gpus(flow, gpus_);
                lost_.require_process();
                peers.arrange(cell);
                return std::vector<CellResult>{measure_cell(cell, seconds, memory)};
            } catch (const Failure& why) {
                throw lost_.blame(cell, why);
            }
        };
        const Progress noting = [&](const Step& step) {
            session.gpus_under_load = watch_.seen(gpus_of(cells_));
            progress(step);
        };
        std::vector<Cell> all = of_cores.cells;
        all.insert(all.end(), cells_.begin(), cells_.end());
        measure_in_rounds(all, policy_, running_time(), session, noting, alone);
        session.gpus_under_load = watch_.seen(gpus_of(cells_));
        end();
    }

private:
    const Node& node_;
    const Policy policy_;
    std::vector<Cell> cells_;
    std::vector<GpuDevice> gpus_;
    LostGpus lost_;
    LoadWatch watch_;

    void set_up(GpuStreamMemory& memory, Session& session) {
        const double begin = now();
        for (const Cell& cell : cells_) memory.plan(cell);
        open_gpus(gpus_, gpus_of(cells_));
        for (const GpuDevice& gpu : gpus_) {
            if (!gpu.open) continue;
            check(cudaSetDevice(gpu.ordinal), "cudaSetDevice");
            load_stream_kernels();
        }
        const double opened = now();
        memory.allocate_host();
        const double allocated = now();
        memory.allocate_device_and_register();
        session.setup_seconds["contexts"] = opened - begin;
        session.setup_seconds["host_memory"] = allocated - opened;
        session.setup_seconds["arrays"] = now() - allocated;
        watch_.begin(gpus_of(cells_));
    }

    std::vector<GpuStreamSeries> series_of(const Cell& cell, const GpuStreamMemory& memory) const {
        std::vector<GpuStreamSeries> all;
        all.reserve(cell.flows.size());
        for (std::size_t i = 0; i < cell.flows.size(); ++i) {
            const Flow& flow = cell.flows[i];
            const GpuDevice& gpu = driving_gpu(flow, gpus_);
            const GpuDevice& checker = flow.to_gpu() ? gpus_[static_cast<std::size_t>(flow.destination.index)] : gpu;
            all.emplace_back(flow, memory.at(cell, i), gpu, checker);
        }
        return all;
    }

    CellResult measure_cell(const Cell& cell, double seconds, const GpuStreamMemory& memory) {
        std::vector<GpuStreamSeries> all = series_of(cell, memory);
        CellResult result = all.size() == 1 ? measure_latched(all[0], seconds) : measure_windowed(all, seconds);
        result.quantity = "stream";
        result.cell = cell;
        for (const GpuStreamSeries& series : all) {
            result.bytes = std::max(result.bytes, series.arrays().bytes);
            if (result.smaller.empty()) result.smaller = series.arrays().smaller;
        }
        return result;
    }

    CellResult measure_latched(GpuStreamSeries& series, double seconds) {
        const std::vector<int> cpus = bind_thread(driving_cpus(series.flow(), node_, gpus_));
        LinkState link;
        Latch latch(series);
        const double begin = now();
        series.begin();
        const double poisoned = now();
        series.make_current();
        LatchedSampler sampler(series, latch, series.counted_bytes(), policy_);
        const LatchedSampler::Outcome outcome =
            sampler.measure(std::min(seconds, policy_.latched_seconds), false, [&] { link = watch_.look(series.gpu()); });
        const double measured = now();
        CellResult result;
        result.method = "latched";
        result.verified = series.verify();
        result.verify_seconds = poisoned - begin + now() - measured;
        result.converged = outcome.complete;
        result.visits = {outcome.visit};
        result.total = outcome.rate;
        result.flows.push_back(flow_result(series, outcome.rate, cpus, link));
        return result;
    }

    CellResult measure_windowed(std::vector<GpuStreamSeries>& all, double seconds) {
        std::vector<Mover> movers;
        for (std::size_t i = 0; i < all.size(); ++i) {
            GpuStreamSeries& series = all[i];
            Mover& mover = movers.emplace_back();
            mover.work = {[&series](FlowThread& thread) { move_chunks(series, thread); }, series.counted_bytes(), i,
                          driving_cpus(series.flow(), node_, gpus_)};
            mover.poison = [&series] { series.begin(); };
            mover.verify = [&series] { return series.verify(); };
        }
        std::map<int, LinkState> links;
        const CheckedOutcome checked = run_checked(movers, policy_, std::min(seconds, policy_.stream_seconds), [&] {
            for (const GpuStreamSeries& series : all)
                if (links.count(series.gpu().index) == 0) links[series.gpu().index] = watch_.look(series.gpu());
        });
        checked.require();
        const WindowOutcome& outcome = checked.moved;
        CellResult result;
        result.method = "windowed";
        result.verified = checked.all_verified();
        result.verify_seconds = checked.verify_seconds;
        result.converged = outcome.complete;
        result.visits = {{outcome.begin, outcome.end, outcome.total.n()}};
        result.total = outcome.total;
        for (std::size_t i = 0; i < all.size(); ++i)
            result.flows.push_back(flow_result(all[i], outcome.rates[i], outcome.cpus[i], links[all[i].gpu().index]));
        return result;
    }

    FlowResult flow_result(const GpuStreamSeries& series, const Summary& rate, const std::vector<int>& cpus,
                           const LinkState& link) const {
        FlowResult result;
        result.flow = series.flow();
        result.rate = rate;
        result.ceiling = ceiling_of(series.flow());
        result.cpus = cpus;
        result.memory_nodes = series.arrays().memory_nodes;
        result.link = link;
        return result;
    }

    std::optional<double> ceiling_of(const Flow& flow) const {
        const GpuDevice& gpu = driving_gpu(flow, gpus_);
        if (flow.source == flow.destination) return gpu.memory_ceiling();
        const int reads = arrays_read(flow.kernel);
        const int writes = arrays_written(flow.kernel);
        if (!flow.to_gpu()) return kernel_ceiling(reads, writes, gpu.ceiling(true), gpu.ceiling(false));
        const std::optional<double> link = nvlink_ceiling(gpu.management.nvlink_generation, lanes_between(flow, gpus_));
        return kernel_ceiling(reads, writes, link, link);
    }
};

}  // namespace

std::string cuda_of_gpu_stream() { return compiled_cuda_version(); }

void measure_gpu_stream(const CommandLine& line, const Node& node, const std::vector<Cell>& cells, const CoreCells& of_cores,
                        Measurement& measurement) {
    const double begin = now();
    const Nvml nvml;
    GpuStreamBench bench(node, nvml, line.policy, cells);
    measurement.session.setup_seconds["driver"] = now() - begin;
    measurement.run.driver = nvml.driver_version();
    measurement.gpus = gpus_for_document(bench.gpus());
    bench.measure(of_cores, measurement.session, measurement.progress, measurement.end);
}

}  // namespace nearfar
