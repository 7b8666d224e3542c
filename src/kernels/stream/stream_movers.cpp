#include "kernels/stream/stream_movers.h"

#include <algorithm>
#include <string>

#include "core/error.h"
#include "core/trouble.h"
#include "kernels/stream/stream_slice.h"
#include "node/cpus.h"

namespace nearfar {
namespace {

constexpr std::size_t least_array = std::size_t{64} << 20;
constexpr std::size_t caches_an_array = 4;  // STREAM's rule: each array at least four times the last-level cache

// Of `cores`, one CPU each, those that run a flow. Half: every second one, so that all of what cores share is in use.
std::vector<int> running(const Flow& flow, const std::vector<int>& cores) {
    if (flow.cores == CoreShare::all || cores.empty()) return cores;
    if (flow.cores == CoreShare::one) return {cores.front()};
    const int left_out = flow.cores == CoreShare::all_but_two ? 2 : 1;
    if (cores.size() <= static_cast<std::size_t>(left_out))
        throw Prevented("not_allowed", flow.text() + ": " + (cores.size() == 1 ? "one core" : "two cores") + " of NUMA node " +
                                           std::to_string(flow.source.index) + " " + (cores.size() == 1 ? "is" : "are") +
                                           " allowed");
    if (flow.cores != CoreShare::half) return {cores.begin() + left_out, cores.end()};
    std::vector<int> half;
    for (std::size_t i = 0; i + 1 < cores.size(); i += 2) half.push_back(cores[i]);
    return half;
}

}  // namespace

std::size_t StreamMovers::array_bytes() const {
    const std::size_t cache = node_.last_level_cache / std::max<std::size_t>(1, node_.packages.size());
    return std::max(least_array, caches_an_array * cache);
}

HostBuffer& StreamMovers::memory_on(int numa_node) {
    std::unique_ptr<HostBuffer>& memory = memory_[numa_node];
    if (!memory) memory = std::make_unique<HostBuffer>(node_, numa_node, 3 * array_bytes(), HostPages::ordinary, 1);
    return *memory;
}

void StreamMovers::make_arrays(const std::vector<Cell>& cells) {
    for (const Cell& cell : cells)
        for (const Flow& flow : cell.flows)
            if (flow.is_stream_flow()) thrown_by([&] { memory_on(flow.destination.index); });
}

MovingFlow StreamMovers::of(const Flow& flow, std::size_t index) {
    const std::vector<int> cores = intersection(node_.driving_cpus(flow.source.index), node_.one_cpu_a_core);
    const std::vector<int> cpus = running(flow, cores);
    if (node_.numa_node(flow.source.index)->cpus.empty())
        throw Prevented("not_allowed", "NUMA node " + std::to_string(flow.source.index) + " has no cores");
    const HostBuffer& memory = memory_on(flow.destination.index);
    auto* const data = static_cast<double*>(memory.data());
    const std::size_t length = array_bytes() / sizeof(double);
    const StreamArrays whole{data, data + length, data + 2 * length, length};
    MovingFlow moving;
    moving.known.flow = flow;
    moving.known.memory_nodes = memory.memory_nodes();
    moving.bytes = array_bytes();
    for (std::size_t share = 0; share < cpus.size(); ++share) {
        const StreamArrays slice = slice_of(whole, share, cpus.size());
        const std::string who = flow.text() + " on CPU " + std::to_string(cpus[share]);
        const auto compared = std::make_shared<std::size_t>(0);  // by the thread, before it ends
        const auto first = cores.begin() + static_cast<std::ptrdiff_t>(cores.size() * share / cpus.size());
        const auto last = cores.begin() + static_cast<std::ptrdiff_t>(cores.size() * (share + 1) / cpus.size());
        const Team helpers({first, last});  // those that do not run have nothing else to do
        const auto body = [=](FlowThread& thread) { *compared = run_slice(flow.kernel, slice, who, helpers, thread); };
        Mover& mover = moving.movers.emplace_back();
        mover.work = {body, chunk_bytes(flow.kernel, slice), index, {cpus[share]}};
        mover.verify = [compared] { return Verified{*compared, 0, 0}; };
    }
    return moving;
}

}  // namespace nearfar
