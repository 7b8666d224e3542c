// nearfar-copy: how fast bytes move between host memory and GPUs, alone, together, and beside computing.

#include <algorithm>

#include "cell/matrix.h"
#include "copy/copy_options.h"
#include "copy/gpu_task.h"
#include "copy/with_gpus.h"
#include "core/error.h"
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

}  // namespace

int main(int argc, char** argv) {
    return run_program("nearfar-copy", true, [&] {
        const CommandLine line = parse_copy_options(argc, argv);
        if (!line.as_task.empty()) run_as_gpu_task(line.gpus, line.as_task);
        return run({"nearfar-copy", copy_help, cuda_of_build(), matrix, require_copy, measure_with_gpus}, line);
    });
}
