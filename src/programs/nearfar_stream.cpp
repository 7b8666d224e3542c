// nearfar-stream: STREAM by the cores of one NUMA node on the memory of another, and on all nodes at once.
#include "cell/matrix.h"
#include "core/error.h"
#include "kernels/stream_bench.h"
#include "supervisor/program.h"
#include "supervisor/supervisor.h"

using namespace nearfar;

namespace {

const HelpText text{
    "nearfar-stream [CELL...] [options]: STREAM on host memory, threads bound one a core\n\n"
    "A cell is c0:n1/triad (the cores of NUMA node 0 on the memory of NUMA node 1) with copy, scale, add or triad, or several\n"
    "of them at once joined by '+'. Without cells: triad of every node's cores on every node's memory, and all nodes at once.\n\n",
    "\nexamples:\n"
    "  nearfar-stream                             the whole matrix, as a table\n"
    "  nearfar-stream c0:n0/copy c0:n1/copy       near and far copies\n"
    "  nearfar-stream c0:n0/triad+c1:n1/triad     both nodes at once\n"
    "\nexit codes: 0 measured, 1 a cell failed, 2 wrong use, 3 something could not be measured\n"};

Options table(CommandLine& line) { return with_cell_options({}, line); }

std::string help() { return help_of(text, table); }

void require_stream(const Cell& cell) {
    require_no_gpu_kernel(cell);
    for (const Flow& flow : cell.flows)
        if (!flow.is_stream_flow()) throw WrongUse("cell '" + cell.text() + "': copies with GPUs are measured by nearfar-copy");
}

Matrix matrix(const Node& node, const Policy& policy) { return stream_matrix(node, policy.all); }

void measure(const CommandLine& line, const Node& node, const std::vector<Cell>& cells, Measurement& measurement) {
    StreamBench(node, line.policy).measure(cells, measurement.session, measurement.progress);
    measurement.end();
}

}  // namespace

int main(int argc, char** argv) {
    return run_program("nearfar-stream", true, [&] {
        const CommandLine line = parse_command_line(argc, argv, table);
        return run({"nearfar-stream", help, "", matrix, require_stream, measure}, line);
    });
}
