// nearfar-copy: how fast bytes move between host memory and GPUs, alone, together, and beside computing.

#include <algorithm>

#include "cell/aggressors.h"
#include "cell/matrix.h"
#include "copy/copy_bench.h"
#include "copy/copy_options.h"
#include "copy/gpu_task.h"
#include "core/clock.h"
#include "core/error.h"
#include "gpu/document_gpus.h"
#include "gpu/gpu_call.h"
#include "kernels/beside/kernels_beside_copies.h"
#include "kernels/gpu_compute/cuda_library.h"
#include "node/gpu_vendor.h"
#include "supervisor/program.h"
#include "supervisor/supervisor.h"

using namespace nearfar;

namespace {

void require_copy(const Cell& cell) {
    const auto is_copy = [](const Flow& flow) { return flow.is_copy(); };
    const bool has_copies = std::any_of(cell.flows.begin(), cell.flows.end(), is_copy);
    for (const Flow& flow : cell.flows) {
        if (flow.is_compute_flow() && !has_copies)
            throw WrongUse("cell '" + cell.text() + "': /gemm runs beside copies (" + flow.text() + "+n0:" + flow.source.text() +
                           "); by itself it is measured by nearfar-kernels --kernels=sgemm");
        if (flow.is_gpu_stream_flow() || (flow.is_stream_flow() && !has_copies))
            throw WrongUse("cell '" + cell.text() + "': STREAM is measured by nearfar-stream" +
                           (has_copies ? "; beside copies that by cores alone (c0:n0/triad)" : ""));
    }
}

Matrix matrix(const Node& node, const Policy& policy) {
    return policy.quick || policy.aspect == Aspect::tail ? quick_matrix(node, policy.all) : host_device_matrix(node, policy.all);
}

void measure(const CommandLine& line, const Node& node, const std::vector<Cell>& cells, Measurement& measurement) {
    const double begin = now();
    require_aggressors(line.policy.aggressors, node);
    const Nvml nvml;
    CopyBench bench(node, nvml, line.policy, cells);
    measurement.session.setup_seconds["driver"] = now() - begin;
    measurement.run.driver = nvml.driver_version();
    measurement.gpus = gpus_for_document(bench.gpus());
    if (cells.empty() && measurement.session.failed.empty())
        measurement.session.skipped.push_back(
            {"", "missing_library",
             std::string("this node has no ") + gpu_vendor.name + " GPU on its PCI bus: nothing was measured"});
    KernelsBesideCopies beside(node, bench.gpus());
    bench.measure(measurement.session, measurement.progress, beside, [&] {
        measurement.run.libraries = opened_libraries();
        measurement.end();
    });
}

}  // namespace

int main(int argc, char** argv) {
    return run_program("nearfar-copy", true, [&] {
        const CommandLine line = parse_copy_options(argc, argv);
        if (!line.as_task.empty()) run_as_gpu_task(line.gpus, line.as_task);
        return run({"nearfar-copy", copy_help, compiled_cuda_version(), matrix, require_copy, measure}, line);
    });
}
