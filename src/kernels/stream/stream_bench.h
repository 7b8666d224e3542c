// STREAM: copy, scale, add and triad by the cores of one NUMA node on the memory of another.
// J. D. McCalpin, "Memory Bandwidth and Machine Balance in Current High Performance Computers", 1995; the counting of bytes is
// STREAM's: each array read or written once, write-allocate traffic not counted.
#pragma once

#include <vector>

#include "supervisor/program.h"

namespace nearfar {

// Whether a run of these cells needs no GPU: there are some, all of cores, and nothing runs in the background.
bool needs_no_gpu(const std::vector<Cell>& cells, const Policy& policy);

// Measures the cells of a run that needs no GPU in rounds, into `measurement`, and calls its end.
void measure_stream_of_cores(const Policy& policy, const Node& node, const std::vector<Cell>& cells, Measurement& measurement);

}  // namespace nearfar
