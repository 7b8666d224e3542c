#include "mpi/contention/stream_mover.h"

#include <algorithm>

namespace nearfar {
namespace {

constexpr std::size_t least_array = std::size_t{64} << 20;

// An array as large as a package's last-level cache, at least 64 MiB.
std::size_t array_bytes(const Node& node) {
    return std::max(least_array, node.last_level_cache / std::max<std::size_t>(1, node.packages.size()));
}

StreamArrays arrays_in(const HostBuffer& memory) {
    const std::size_t length = memory.bytes() / 3 / sizeof(double);
    auto* const data = static_cast<double*>(memory.data());
    constexpr std::size_t line = 8;
    const std::size_t step = length / line * line;
    return slice_of({data, data + step, data + 2 * step, step}, 0, 1);
}

}  // namespace

StreamMover::StreamMover(const Node& node, Cell cell)
    : cell_(std::move(cell)), memory_(node, cell_.flows[0].destination.index, 3 * array_bytes(node), HostPages::ordinary, 1),
      arrays_(arrays_in(memory_)) {}

std::size_t StreamMover::chunk(std::size_t flow) const { return chunk_bytes(cell_.flows[flow].kernel, arrays_); }

void StreamMover::move(std::size_t flow, FlowThread& thread) {
    run_slice(cell_.flows[flow].kernel, arrays_, cell_.flows[flow].text(), Team({}), thread);
}

}  // namespace nearfar
