#include "core/suspension.h"
#include "engine/rounds.h"
#include "kernels/gpu_stream/gpu_stream.h"

namespace nearfar {

std::string cuda_of_gpu_stream() { return ""; }

void measure_gpu_stream(const CommandLine& line, const Node&, const std::vector<Cell>& cells, const CoreCells& of_cores,
                        Measurement& measurement) {
    measure_in_rounds(of_cores.cells, line.policy, running_time(), measurement.session, measurement.progress,
                      [&](const Cell& cell, double seconds, int) { return of_cores.measure(cell, seconds); });
    for (const Cell& cell : cells)
        measurement.session.skipped.push_back(
            {cell.text(), "missing_library",
             "this nearfar-stream was built without CUDA: build it where there is an nvcc of 12.2 or newer"});
    measurement.end();
}

}  // namespace nearfar
