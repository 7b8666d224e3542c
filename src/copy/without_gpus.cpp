// In the place of copy_bench.cpp and gpu_task.cpp where there is no CUDA compiler.
#include <algorithm>

#include "copy/with_gpus.h"
#include "core/error.h"
#include "kernels/stream/stream_bench.h"

namespace nearfar {

std::string cuda_of_build() { return ""; }

void run_as_gpu_task(const std::vector<std::string>&, const GpuSet&) { throw WrongUse("--as-task: built without CUDA"); }

void measure_with_gpus(const CommandLine& line, const Node& node, const std::vector<Cell>& cells, Measurement& measurement) {
    std::vector<Cell> of_cores;
    for (const Cell& cell : cells)
        if (needs_no_gpu({cell}, line.policy))
            of_cores.push_back(cell);
        else
            measurement.session.skipped.push_back(
                {cell.text(), "missing_library",
                 "this nearfar-copy was built without CUDA: build it where there is an nvcc of 11.8 or newer"});
    measure_stream_of_cores(line.policy, node, of_cores, measurement);
}

}  // namespace nearfar
