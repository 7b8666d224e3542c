// STREAM: copy, scale, add and triad by the cores of one NUMA node on the memory of another.
// J. D. McCalpin, "Memory Bandwidth and Machine Balance in Current High Performance Computers", 1995; the counting of bytes is
// STREAM's: each array read or written once, write-allocate traffic not counted.
#pragma once

#include <vector>

#include "cell/policy.h"
#include "cell/results.h"
#include "engine/rounds.h"
#include "kernels/stream/stream_movers.h"
#include "node/node.h"

namespace nearfar {

class StreamBench {
public:
    StreamBench(const Node& node, const Policy& policy) : policy_(policy), movers_(node) {}

    // Measures the cells in rounds into `session`.
    void measure(const std::vector<Cell>& cells, Session& session, const Progress& progress);

private:
    const Policy& policy_;
    StreamMovers movers_;

    CellResult measure_cell(const Cell& cell, double seconds);
};

}  // namespace nearfar
