// nearfar-copy: how fast bytes move between host memory and GPUs, alone and together.
#include <cuda_runtime_api.h>

#include <csignal>
#include <cstdio>
#include <mutex>

#include "flow/clock.h"
#include "flow/copy_bench.h"
#include "flow/error.h"
#include "flow/interrupt.h"
#include "flow/matrix.h"
#include "flow/program.h"
#include "flow/task_process.h"

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
    "  --even-if-busy   measure GPUs that other processes use\n";

const char* const examples =
    "\nexamples:\n"
    "  nearfar-copy                          the whole host-device matrix, as a table\n"
    "  nearfar-copy n0:g0 n1:g0 --json       one GPU from two NUMA nodes, as a document\n"
    "  nearfar-copy n0:g0+n0:g1+n0:g2+n0:g3  four GPUs at once from one NUMA node\n"
    "  nearfar-copy g0:g1+g1:g0              two GPUs, both directions at once\n"
    "  nearfar-copy n0:g0 --sizes 1KiB..1GiB how bandwidth grows with size\n"
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

void refuse_stream(const std::vector<Cell>& cells) {
    for (const Cell& cell : cells)
        for (const Flow& flow : cell.flows)
            if (flow.is_stream_flow()) throw WrongUse("cell '" + cell.text() + "': STREAM is measured by nearfar-stream");
}

int measure(const CommandLine& line) {
    const double begin = now();
    ProgramRun run{"nearfar-copy", line.words, utc_now(), 0, "", cuda_version()};
    const Node node = read_node(line.gpus);
    refuse_stream(line.cells);
    Session session;
    std::vector<Cell> cells = line.cells.empty() ? host_device_matrix(node) : line.cells;
    set_absent_aside(cells, node, line.absent_fails, session);
    if (line.list) {
        for (const Cell& cell : cells) std::printf("%s\n", cell.text().c_str());
        return 0;
    }
    std::mutex mutex;
    const Nvml nvml;
    session.setup_seconds["node_and_nvml"] = now() - begin;
    const double cuda = now();
    std::vector<DocumentGpu> shown;
    const auto print = [&] {
        run.seconds = now() - begin;
        print_session(line, document(run, node, shown, session), session);
    };
    Watchdog watchdog(line.policy.hang_seconds, session, mutex, print);
    CopyBench bench(node, nvml, line.policy, cells);
    session.setup_seconds["driver"] = now() - cuda;
    run.driver = nvml.driver_version();
    shown = gpus_for_document(bench.gpus());
    bench.measure(session, mutex, [&](std::size_t position, std::size_t count, const std::string& cell) {
        watchdog.begin(cell);
        print_progress(position, count, cell);
    });
    end_progress();
    const std::lock_guard<std::mutex> lock(mutex);
    if (cells.empty() && session.failed.empty())
        session.skipped.push_back({"", "missing_library", "this node has no NVIDIA GPU on its PCI bus: nothing was measured"});
    print();
    return exit_code(session);
}

}  // namespace

int main(int argc, char** argv) {
    return run_program("nearfar-copy", [&] {
        const CommandLine line = parse_command_line(argc, argv);
        if (line.help) {
            std::printf("%s%s%s", help, common_options_help, examples);
            return 0;
        }
        if (line.version) {
            std::printf("nearfar-copy %s (CUDA %s)\n", NEARFAR_VERSION, cuda_version().c_str());
            return 0;
        }
        if (line.as_task > 0 && line.cells.size() == 1) {
            std::signal(SIGINT, SIG_IGN);  // the parent decides when its tasks end
            return run_as_task(read_node(line.gpus), Nvml(), line.cells[0].flows[0], line.as_task);
        }
        catch_interrupts();
        return measure(line);
    });
}
