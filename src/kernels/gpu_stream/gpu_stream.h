// STREAM by GPUs as nearfar-stream has it, in a build with CUDA and in one without.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "supervisor/program.h"

namespace nearfar {

// The CUDA of this build; empty for none.
std::string cuda_of_gpu_stream();

// Cells of cores, and a visit to one of them.
struct CoreCells {
    std::vector<Cell> cells;
    std::function<std::vector<CellResult>(const Cell& cell, double seconds)> measure;
};

// Measures cells of GPUs, in the same rounds as those of cores, into `measurement`, and calls its end. A build without CUDA skips those of
// GPUs and says so.
void measure_gpu_stream(const CommandLine& line, const Node& node, const std::vector<Cell>& cells, const CoreCells& of_cores,
                        Measurement& measurement);

}  // namespace nearfar
