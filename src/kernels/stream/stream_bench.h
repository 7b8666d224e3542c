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

    // Memory for these cells; what cannot be had is told when its cell is measured.
    void prepare(const std::vector<Cell>& cells, Session& session, const Progress& progress);
    // One visit. Throws Prevented or Failure.
    std::vector<CellResult> measure(const Cell& cell, double seconds);

private:
    const Policy& policy_;
    StreamMovers movers_;
};

}  // namespace nearfar
