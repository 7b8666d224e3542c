// nearfar-copy: how fast bytes move between host memory and GPUs, alone and together.
#include <cuda_runtime_api.h>

#include <mutex>

#include "cell/aggressors.h"
#include "cell/matrix.h"
#include "copy/copy_bench.h"
#include "copy/gpu_task.h"
#include "core/clock.h"
#include "core/error.h"
#include "output/program.h"

using namespace nearfar;

namespace {

const char* const help =
    "nearfar-copy [CELL...] [options]: measures copies between host memory and GPUs, and between GPUs\n\n"
    "A cell is flows at the same time: n0:g1 (NUMA node 0's memory to GPU 1), g1:n0 (back), n0:g0+g0:n0 (both at once).\n"
    "@n1 drives a flow from NUMA node 1; /sm copies by a kernel; /pageable, /huge choose the host memory; /x4 shares a\n"
    "flow among four tasks. g0:g1 is a write by GPU 0's copy engine, g0:g1@g1 a read by GPU 1's, g0:g1/staged goes through the\n"
    "host with peer access off. GPUs count in PCI bus order over all the node's. Without cells: every NUMA node with every GPU.\n\n"
    "  --gpus PCI,PCI…  what g0, g1 … are; one that is not there fails its cells\n"
    "  --sizes A..B     lone flows at each power of two (1KiB..1GiB), or a list (4KiB,1MiB); with the half-bandwidth size\n"
    "  --latency        of lone flows, three times in microseconds: a tiny copy, dependent loads by a kernel, a launch\n"
    "  --quick          few samples, pairs of GPUs together; what lies below its like is measured again alone. Without cells:\n"
    "                   the host-device matrix one way, and all pairs of GPUs, written and read\n"
    "  --aggressor CELL keep CELL's flows running beside every measured cell, as a fault or a neighbour would (repeatable)\n"
    "  --even-if-busy   measure GPUs that other processes use\n";

const char* const examples =
    "\nexamples:\n"
    "  nearfar-copy                          the whole host-device matrix, as a table\n"
    "  nearfar-copy n0:g0 n1:g0 --json       one GPU from two NUMA nodes, as a document\n"
    "  nearfar-copy n0:g0+n0:g1+n0:g2+n0:g3  four GPUs at once from one NUMA node\n"
    "  nearfar-copy g0:g1+g1:g0              two GPUs, both directions at once\n"
    "  nearfar-copy n0:g0 --sizes 1KiB..1GiB how bandwidth grows with size\n"
    "  nearfar-copy --quick                  every path one way, in a few seconds\n"
    "  nearfar-copy --aggressor n0:g2        the matrix, with the path to one GPU loaded by another process\n"
    "\nexit codes: 0 measured, 1 a cell failed (wrong data, lost GPU), 2 wrong use, 3 something could not be measured\n";

std::string cuda_version() {
    int version = 0;
    if (cudaRuntimeGetVersion(&version) != cudaSuccess) return "";
    return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::vector<DocumentGpu> gpus_for_document(const std::vector<GpuDevice>& gpus) {
    std::vector<DocumentGpu> shown;
    for (const GpuDevice& gpu : gpus) shown.push_back({gpu.on_bus, gpu.management, gpu.ordinal >= 0});
    return shown;
}

void require_copy(const Cell& cell) {
    for (const Flow& flow : cell.flows)
        if (flow.is_stream_flow()) throw WrongUse("cell '" + cell.text() + "': STREAM is measured by nearfar-stream");
}

Matrix matrix(const Node& node, const Policy& policy) {
    return policy.quick ? quick_matrix(node, policy.all) : host_device_matrix(node, policy.all);
}

void measure(const CommandLine& line, const Node& node, const std::vector<Cell>& cells, Measurement& measurement) {
    const double begin = now();
    require_aggressors(line.policy.aggressors, node);
    const Nvml nvml;
    CopyBench bench(node, nvml, line.policy, cells);
    measurement.session.setup_seconds["driver"] = now() - begin;
    {
        const std::lock_guard<std::mutex> lock(measurement.mutex);
        measurement.run.driver = nvml.driver_version();
        measurement.gpus = gpus_for_document(bench.gpus());
    }
    bench.measure(measurement.session, measurement.mutex, measurement.progress);
    measurement.end_of_process = bench.end_of_process();
    if (cells.empty() && measurement.session.failed.empty())
        measurement.session.skipped.push_back(
            {"", "missing_library", "this node has no NVIDIA GPU on its PCI bus: nothing was measured"});
}

}  // namespace

int main(int argc, char** argv) {
    return run_program("nearfar-copy", [&] {
        const CommandLine line = parse_command_line(argc, argv);
        if (!line.as_task.empty()) run_as_gpu_task(line.gpus, line.as_task);
        return run({"nearfar-copy", help, examples, cuda_version(), matrix, require_copy, measure}, line);
    });
}
