#include "mpi/contention/data_mover.h"

#include <algorithm>

#include "kernels/stream/stream_slice.h"
#include "memory/host_memory.h"

namespace nearfar {
namespace {

constexpr std::size_t least_chunks = 4;  // with fewer in a window a flow is starved
constexpr std::size_t least_array = std::size_t{64} << 20;

void poll(FlowThread& thread) {
    thread.start();
    while (!thread.stopped()) continue;
}

std::vector<FlowWork> work_of(const std::vector<Mover>& movers, bool polling) {
    std::vector<FlowWork> work;
    for (const Mover& mover : movers) {
        if (!polling && mover.poison) mover.poison();
        work.push_back(mover.work);
        if (polling) work.back().body = poll;
    }
    return work;
}

}  // namespace

// Three arrays as large as a package's last-level cache, at least 64 MiB each.
DataMovers stream_movers(const Node& node, const Cell& cell, const std::vector<std::vector<int>>& cpus) {
    const Flow& flow = cell.flows[0];
    const std::size_t cache = node.last_level_cache / std::max<std::size_t>(1, node.packages.size());
    const std::size_t length = std::max(least_array, cache) / sizeof(double);
    const auto memory =
        std::make_shared<HostBuffer>(node, flow.destination.index, 3 * length * sizeof(double), HostPages::ordinary, 1);
    auto* const data = static_cast<double*>(memory->data());
    const std::size_t step = length / 8 * 8;  // whole cache lines
    const StreamArrays arrays = slice_of({data, data + step, data + 2 * step, step}, 0, 1);
    const auto body = [=](FlowThread& thread) { run_slice(flow.kernel, arrays, flow.text(), Team({}), thread); };
    // Each run sets its own values and looks at its own answer.
    return {memory,
            {{{body, chunk_bytes(flow.kernel, arrays), 0, cpus[0]}, {}, [] { return Verified(); }}},
            {memory->memory_nodes()}};
}

MovingPhase::MovingPhase(const std::vector<Mover>& movers, bool polling)
    : movers_(movers), polling_(polling), engine_(work_of(movers, polling)) {
    engine_.await_ready();
}

void MovingPhase::begin(const AgreedWindow& window) {
    window_ = window;
    engine_.begin(window.start, window.stop);
}

std::vector<MovedFlow> MovingPhase::finish() {
    engine_.join();
    engine_.require();
    if (polling_) return std::vector<MovedFlow>(movers_.size());
    for (const Mover& mover : movers_) mover.verify();
    std::vector<MovedFlow> flows;
    for (const CompletionLog& log : engine_.logs())
        flows.push_back({log.rate(window_.open, window_.close), log.count(window_.open, window_.close) < least_chunks});
    return flows;
}

}  // namespace nearfar
