// nearfar-copy: how fast bytes move between host memory and GPUs, alone, together, and beside computing; and STREAM on either memory.
#include <string>

#include "cell/matrix.h"
#include "copy/copy_options.h"
#include "copy/with_gpus.h"
#include "kernels/stream/stream_bench.h"
#include "node/gpu_vendor.h"
#include "supervisor/program.h"
#include "supervisor/supervisor.h"

using namespace nearfar;

namespace {

Matrix matrix(const Node& node, const Policy& policy) {
    return policy.quick || policy.aspect == Aspect::tail ? quick_matrix(node, policy.all) : host_device_matrix(node, policy.all);
}

// No driver is asked where no GPU has a part.
void measure(const CommandLine& line, const Node& node, const std::vector<Cell>& cells, Measurement& measurement) {
    if (cells.empty() && measurement.session.failed.empty())
        measurement.session.skipped.push_back(
            {"", "missing_library",
             std::string("this node has no ") + gpu_vendor.name + " GPU on its PCI bus: nothing was measured"});
    if (needs_no_gpu(cells, line.policy)) return measure_stream_of_cores(line.policy, node, cells, measurement);
    measure_with_gpus(line, node, cells, measurement);
}

}  // namespace

int main(int argc, char** argv) {
    return run_program("nearfar-copy", true, [&] {
        const CommandLine line = parse_copy_options(argc, argv);
        if (!line.as_task.empty()) run_as_gpu_task(line.gpus, line.as_task);
        return run({copy_help, needs_no_gpu(line.cells, line.policy) ? "" : cuda_of_build(), matrix, measure}, line);
    });
}
