#include "kernels/gpu_stream/gpu_stream.h"

#include "core/clock.h"
#include "gpu/document_gpus.h"
#include "gpu/gpu_call.h"
#include "kernels/gpu_stream/gpu_stream_bench.h"
#include "node/nvml.h"

namespace nearfar {

std::string cuda_of_gpu_stream() { return compiled_cuda_version(); }

void measure_gpu_stream(const CommandLine& line, const Node& node, const std::vector<Cell>& cells, const CoreCells& of_cores,
                        Measurement& measurement) {
    const double begin = now();
    const Nvml nvml;
    GpuStreamBench bench(node, nvml, line.policy, cells);
    measurement.session.setup_seconds["driver"] = now() - begin;
    measurement.run.driver = nvml.driver_version();
    measurement.gpus = gpus_for_document(bench.gpus());
    bench.measure(of_cores, measurement.session, measurement.progress, measurement.end);
}

}  // namespace nearfar
