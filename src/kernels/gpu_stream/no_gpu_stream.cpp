#include "kernels/gpu_stream/gpu_stream.h"

namespace nearfar {

std::string cuda_of_gpu_stream() { return ""; }

void measure_gpu_stream(const CommandLine&, const Node&, const std::vector<Cell>& cells, Measurement& measurement) {
    for (const Cell& cell : cells)
        measurement.session.skipped.push_back(
            {cell.text(), "missing_library",
             "this nearfar-stream was built without CUDA: build it where there is an nvcc of 12.2 or newer"});
    measurement.end();
}

}  // namespace nearfar
