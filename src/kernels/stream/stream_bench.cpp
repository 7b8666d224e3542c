#include "kernels/stream/stream_bench.h"

#include <algorithm>
#include <atomic>
#include <string>

#include "core/clock.h"
#include "core/error.h"
#include "engine/engine.h"
#include "kernels/stream/stream_slice.h"
#include "node/cpus.h"

namespace nearfar {
namespace {

constexpr std::size_t least_array = std::size_t{64} << 20;
constexpr std::size_t caches_an_array = 4;  // STREAM's rule: each array at least four times the last-level cache

std::vector<int> merged(const std::vector<std::vector<int>>& sets) {
    std::vector<int> all;
    for (const std::vector<int>& set : sets) all.insert(all.end(), set.begin(), set.end());
    std::sort(all.begin(), all.end());
    return all;
}

// Of `cores`, one CPU each, those that run a flow. Half: every second one, so that all of what cores share is in use.
std::vector<int> running(const Flow& flow, const std::vector<int>& cores) {
    if (flow.cores == CoreShare::all || cores.empty()) return cores;
    if (flow.cores == CoreShare::one) return {cores.front()};
    if (cores.size() == 1)
        throw Prevented("not_allowed",
                        flow.text() + ": one core of NUMA node " + std::to_string(flow.source.index) + " is allowed");
    if (flow.cores == CoreShare::all_but_one) return {cores.begin() + 1, cores.end()};
    std::vector<int> half;
    for (std::size_t i = 0; i + 1 < cores.size(); i += 2) half.push_back(cores[i]);
    return half;
}

}  // namespace

std::size_t StreamBench::array_bytes() const {
    const std::size_t cache = node_.last_level_cache / std::max<std::size_t>(1, node_.packages.size());
    return std::max(least_array, caches_an_array * cache);
}

HostBuffer& StreamBench::memory_on(int numa_node) {
    std::unique_ptr<HostBuffer>& memory = memory_[numa_node];
    if (!memory) memory = std::make_unique<HostBuffer>(node_, numa_node, 3 * array_bytes(), HostPages::ordinary, 1);
    return *memory;
}

CellResult StreamBench::measure_cell(const Cell& cell, double seconds) {
    CellResult result;
    result.quantity = "stream";
    result.method = "windowed";
    result.cell = cell;
    result.bytes = array_bytes();
    std::vector<FlowWork> work;
    std::atomic<std::size_t> compared{0};
    for (std::size_t i = 0; i < cell.flows.size(); ++i) {
        const Flow& flow = cell.flows[i];
        const std::vector<int> cpus = running(flow, intersection(node_.driving_cpus(flow.source.index), node_.one_cpu_a_core));
        if (node_.numa_node(flow.source.index)->cpus.empty())
            throw Prevented("not_allowed", "NUMA node " + std::to_string(flow.source.index) + " has no cores");
        auto* data = static_cast<double*>(memory_on(flow.destination.index).data());
        const std::size_t length = array_bytes() / sizeof(double);
        const StreamArrays whole{data, data + length, data + 2 * length, length};
        for (std::size_t share = 0; share < cpus.size(); ++share) {
            const StreamArrays slice = slice_of(whole, share, cpus.size());
            const std::string who = flow.text() + " on CPU " + std::to_string(cpus[share]);
            const auto body = [&compared, &flow, slice, who](FlowThread& thread) {
                compared += run_slice(flow.kernel, slice, who, thread);
            };
            work.push_back({body, chunk_bytes(flow.kernel, slice), i, {cpus[share]}});
        }
    }
    Engine engine(work);
    const WindowOutcome outcome = run_window(engine, policy_, std::min(seconds, policy_.stream_seconds), nullptr);
    for (std::size_t i = 0, first = 0; i < cell.flows.size(); ++i) {
        std::size_t last = first;
        while (last < work.size() && work[last].flow == i) ++last;
        FlowResult flow;
        flow.flow = cell.flows[i];
        flow.rate = outcome.rates[i];
        flow.best = outcome.rates[i].max;
        flow.cpus = merged({outcome.cpus.begin() + static_cast<std::ptrdiff_t>(first),
                            outcome.cpus.begin() + static_cast<std::ptrdiff_t>(last)});
        flow.memory_nodes = memory_on(cell.flows[i].destination.index).memory_nodes();
        result.flows.push_back(flow);
        first = last;
    }
    result.total = outcome.total;
    result.converged = outcome.complete;
    result.visits = {{outcome.begin, outcome.end, outcome.total.n()}};
    if (compared > 0) result.verified = Verified{compared, 0, 0};
    return result;
}

void StreamBench::measure(const std::vector<Cell>& cells, Session& session, const Progress& progress) {
    const double begin = now();
    if (!cells.empty()) progress({0, cells.size(), "set-up", {}});
    for (const Cell& cell : cells) {
        for (const Flow& flow : cell.flows) {
            try {
                memory_on(flow.destination.index);
            } catch (const std::exception&) {
                continue;  // told when its cell is measured
            }
        }
    }
    session.setup_seconds["host_memory"] = now() - begin;
    measure_in_rounds(cells, policy_, now(), session, progress, [this](const Cell& cell, double seconds, int) {
        return std::vector<CellResult>{measure_cell(cell, seconds)};
    });
}

}  // namespace nearfar
