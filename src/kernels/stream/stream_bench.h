// STREAM: copy, scale, add and triad by the cores of one NUMA node on the memory of another.
// J. D. McCalpin, "Memory Bandwidth and Machine Balance in Current High Performance Computers", 1995; the counting of bytes is
// STREAM's: each array read or written once, write-allocate traffic not counted.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "cell/policy.h"
#include "cell/results.h"
#include "engine/rounds.h"
#include "memory/host_memory.h"
#include "node/node.h"

namespace nearfar {

class StreamBench {
public:
    StreamBench(const Node& node, const Policy& policy) : node_(node), policy_(policy) {}

    // Measures the cells in rounds into `session`.
    void measure(const std::vector<Cell>& cells, Session& session, const Progress& progress);

private:
    const Node& node_;
    const Policy& policy_;
    std::map<int, std::unique_ptr<HostBuffer>> memory_;  // three arrays on each NUMA node, by its number

    CellResult measure_cell(const Cell& cell, double seconds);
    HostBuffer& memory_on(int numa_node);
    std::size_t array_bytes() const;
};

}  // namespace nearfar
