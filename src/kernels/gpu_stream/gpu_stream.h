// STREAM by GPUs as nearfar-stream has it, in a build with CUDA and in one without.
#pragma once

#include <string>
#include <vector>

#include "supervisor/program.h"

namespace nearfar {

// The CUDA of this build; empty for none.
std::string cuda_of_gpu_stream();

// Measures cells of GPUs alone into `measurement`, and calls its end. A build without CUDA skips them and says so.
void measure_gpu_stream(const CommandLine& line, const Node& node, const std::vector<Cell>& cells, Measurement& measurement);

}  // namespace nearfar
