// The threads of STREAM by cores, and the arrays that they share from cell to cell.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <vector>

#include "cell/cell.h"
#include "engine/checked_run.h"
#include "memory/host_memory.h"
#include "node/node.h"

namespace nearfar {

class StreamMovers {
public:
    explicit StreamMovers(const Node& node) : node_(node) {}

    // Bytes of each array: STREAM's rule, and no less than 64 MiB.
    std::size_t array_bytes() const;
    // Makes the arrays of these cells' flows; what cannot be had is thrown when its flow is asked for.
    void make_arrays(const std::vector<Cell>& cells);
    // A flow that is the cell's `index`th, with one thread for each of its cores. Throws Prevented where too few are allowed.
    MovingFlow of(const Flow& flow, std::size_t index);

private:
    const Node& node_;
    std::map<int, std::unique_ptr<HostBuffer>> memory_;  // by NUMA node

    // Three arrays on a NUMA node, allocated where they are not there yet; throws as HostBuffer does.
    HostBuffer& memory_on(int numa_node);
};

}  // namespace nearfar
