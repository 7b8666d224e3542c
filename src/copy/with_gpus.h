// Cells of which a GPU has a part, in a build with CUDA and in one without.
#pragma once

#include <string>
#include <vector>

#include "supervisor/program.h"
#include "tasks/task_pool.h"

namespace nearfar {

// The CUDA of this build; empty for none.
std::string cuda_of_build();

// Measures copies, STREAM by GPUs, and STREAM by cores beside either, into `measurement`, and calls its end. A build without CUDA
// measures the cells of cores, and skips the others.
void measure_with_gpus(const CommandLine& line, const Node& node, const std::vector<Cell>& cells, Measurement& measurement);

// The whole life of a process that is a task of another on these GPUs.
[[noreturn]] void run_as_gpu_task(const std::vector<std::string>& pci_addresses, const GpuSet& wanted);

}  // namespace nearfar
