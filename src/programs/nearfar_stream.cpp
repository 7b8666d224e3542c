// nearfar-stream: STREAM by the cores of a NUMA node, or by a GPU, on the memory that a cell names.
#include <algorithm>

#include "cell/matrix.h"
#include "copy/with_gpus.h"
#include "core/error.h"
#include "kernels/stream/stream_bench.h"
#include "supervisor/program.h"
#include "supervisor/supervisor.h"

using namespace nearfar;

namespace {

const HelpText text{
    "nearfar-stream [CELL...] [options]: measures STREAM on host memory, with one thread bound to each core, and on GPU memory\n\n"
    "Without cells: triad by every NUMA node's cores on every NUMA node's memory, and on all NUMA nodes at once.\n\n"
    "cells:\n"
    "  c0:n1/triad       the cores of NUMA node 0 on the memory of NUMA node 1; also copy, scale, add\n"
    "  c0:n1/triad/half  with half of the cores; also /one, /butone and /buttwo (all cores but one or two)\n"
    "  g0:g0/triad       GPU 0 on its own memory; also dot, read, write, fill\n"
    "  g0:g1/triad       GPU 0 on the memory of GPU 1; g0:n1/triad on the host's\n"
    "  A+B               several at once\n\n"
    "options:\n",
    "\nexamples:\n"
    "  nearfar-stream                             the whole matrix of the host, as a table\n"
    "  nearfar-stream c0:n0/copy c0:n1/copy       near and far copies\n"
    "  nearfar-stream c0:n0/triad+c1:n1/triad     both nodes at once\n"
    "  nearfar-stream g0:g0/triad g0:g0/read      a GPU's memory\n"
    "  nearfar-stream g0:g0/triad+g1:g1/triad     two GPUs at once\n"
    "\nexit codes: 0 measured, 1 a cell failed, 2 wrong use, 3 something could not be measured\n"};

Options table(CommandLine& line) {
    return with_cell_options({even_if_busy_option(line.policy.even_if_busy)}, line, stream_checks());
}

std::string help() { return help_of(text, table); }

bool is_of_gpus(const Cell& cell) {
    return std::all_of(cell.flows.begin(), cell.flows.end(), [](const Flow& flow) { return flow.is_gpu_stream_flow(); });
}

void require_stream(const Cell& cell) {
    if (cell.aspect != Aspect::rates) throw WrongUse("cell '" + cell.key() + "': nearfar-stream measures only rates");
    bool cores = false;
    for (const Flow& flow : cell.flows) {
        if (flow.kernel == Kernel::none)
            throw WrongUse("cell '" + cell.text() + "': use nearfar-copy to measure copies with GPUs");
        cores = cores || flow.is_stream_flow();
    }
    if (cores && std::any_of(cell.flows.begin(), cell.flows.end(), [](const Flow& flow) { return flow.is_gpu_stream_flow(); }))
        throw WrongUse("cell '" + cell.text() + "': cores and GPUs cannot share a cell; give each its own");
}

Matrix matrix(const Node& node, const Policy& policy) { return stream_matrix(node, policy.all); }

void measure(const CommandLine& line, const Node& node, const std::vector<Cell>& cells, Measurement& measurement) {
    if (std::none_of(cells.begin(), cells.end(), is_of_gpus))
        return measure_stream_of_cores(line.policy, node, cells, measurement);
    measurement.progress({0, 0, told::set_up, {}});
    measure_with_gpus(line, node, cells, measurement);
}

}  // namespace

int main(int argc, char** argv) {
    return run_program("nearfar-stream", true, [&] {
        const CommandLine line = parse_command_line(argc, argv, table);
        // Where no cell is a GPU's, no driver is asked.
        const bool with_gpus = line.version || std::any_of(line.cells.begin(), line.cells.end(), is_of_gpus);
        return run({"nearfar-stream", help, with_gpus ? cuda_of_build() : "", matrix, require_stream, measure, "/read"}, line);
    });
}
