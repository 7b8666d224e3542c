#include "copy/copy_options.h"

#include <algorithm>

#include "cell/sizes.h"
#include "core/error.h"

namespace nearfar {
namespace {

const HelpText text{
    "nearfar-copy [CELL...] [options]: measures copies between host memory and GPUs, between GPUs and within a GPU, alone or beside compute, and STREAM\n\n"
    "A cell is one or more flows that run at the same time. Without cells: every NUMA node with every GPU.\n\n"
    "flows:\n"
    "  n0:g1         from the memory of NUMA node 0 to GPU 1; g1:n0 is the opposite direction\n"
    "  n0:g0+g0:n0   both directions at once\n"
    "  g0:g1         from GPU 0 to GPU 1, written by GPU 0's copy engine; g0:g1@g1: read by GPU 1's\n"
    "  g0:g0         within GPU 0's memory\n"
    "  n0:g1@n1      driven by a thread on NUMA node 1\n"
    "  n0:g1/x4      split among four processes\n"
    "  n0:g1/sm      copied by a kernel instead of a copy engine\n"
    "  n0:g1/huge    host memory in huge pages; /pageable: not pinned\n"
    "  g0:g1/staged  through host memory, with peer access off\n\n"
    "Beside copies, in the same cell:\n"
    "  g0:g0/gemm    GPU 0 computes matrix products (single precision, 4096 x 4096, by cuBLAS), in GFLOP/s\n"
    "  c0:n0/triad   the cores of NUMA node 0 run STREAM\n\n"
    "STREAM, in a cell of its own:\n"
    "  c0:n1/triad       the cores of NUMA node 0 on the memory of NUMA node 1, a thread on each; also copy, scale, add\n"
    "  c0:n1/triad/half  with half of the cores; also /one, /butone and /buttwo (all cores but one or two)\n"
    "  g0:g0/triad       GPU 0 on its own memory; also dot, read, write, fill; g0:g1/triad on GPU 1's, g0:n1/triad on the host's\n\n"
    "GPUs are numbered in PCI bus order, including those that CUDA_VISIBLE_DEVICES hides.\n\n"
    "options:\n",
    "\nexamples:\n"
    "  nearfar-copy                          the whole host-device matrix, as a table\n"
    "  nearfar-copy n0:g0 n1:g0 --json       one GPU from two NUMA nodes, as a document\n"
    "  nearfar-copy n0:g0+n0:g1+n0:g2+n0:g3  four GPUs at once from one NUMA node\n"
    "  nearfar-copy g0:g1+g1:g0              two GPUs, both directions at once\n"
    "  nearfar-copy n0:g0+g0:g0/gemm         how a copy and compute slow each other down\n"
    "  nearfar-copy c0:n0/triad c0:n1/triad  STREAM on near and far memory\n"
    "  nearfar-copy g0:g0/triad+g1:g1/triad  the memory of two GPUs at once\n"
    "  nearfar-copy n0:g0 --sizes 1KiB..1GiB how bandwidth grows with size\n"
    "  nearfar-copy --cells FILE             one cell per line, followed by what to measure: n0:g0, n0:g0 latency,\n"
    "                                        n0:g0 tail=1000, n0:g0 sizes=1KiB..1GiB, n0:g0 rounds=2\n"
    "  nearfar-copy --quick                  every path in one direction, in a few seconds\n"
    "  nearfar-copy --tail                   the slowest of 1000 transfers on every path, and when it ran\n"
    "  nearfar-copy --aggressor n0:g2        the matrix, while another process loads the path to one GPU\n"
    "\nexit codes: 0 measured, 1 a cell failed (wrong data, lost GPU), 2 wrong use, 3 something could not be measured\n"};

Cell read_aggressor(const std::string& cell) {
    try {
        return parse_cell(cell);
    } catch (const CellError& error) {
        throw WrongUse(std::string("--aggressor: ") + error.what());
    }
}

std::vector<int> read_numbers(const std::string& list) {
    std::vector<int> numbers;
    for (const std::string& part : list_value("--as-task", list)) numbers.push_back(whole_value("--as-task", part, 0, 1023));
    return numbers;
}

void ask_all(CommandLine& line, Aspect aspect, const std::string& value) {
    Policy& policy = line.policy;
    if (policy.aspect != Aspect::rates && policy.aspect != aspect)
        throw WrongUse("--" + aspect_word(policy.aspect) + " and --" + aspect_word(aspect) +
                       " exclude each other; use one, or give each cell its own in a --cells file");
    policy.aspect = aspect;
    read_aspect(aspect, value, "--" + aspect_word(aspect), policy);
}

// Throws WrongUse for flows that cannot share a cell, and for what is not measured of them.
void require_measurable(const Cell& cell, bool quick) {
    const auto any = [&](bool (Flow::*is)() const) {
        return std::any_of(cell.flows.begin(), cell.flows.end(), [&](const Flow& flow) { return (flow.*is)(); });
    };
    const std::string refused = "cell '" + cell.key() + "': ";
    const bool copies = any(&Flow::is_copy);
    const bool gpu_stream = any(&Flow::is_gpu_stream_flow);
    if (any(&Flow::is_compute_flow) && !copies)
        throw WrongUse(
            refused + "/gemm runs beside copies (n0:g0+g0:g0/gemm); by itself it is measured by nearfar-kernels --kernels=sgemm");
    if (gpu_stream && (copies || any(&Flow::is_stream_flow)))
        throw WrongUse(refused + "STREAM by a GPU shares a cell with no copy and no cores; give it its own");
    if (!copies && (quick || cell.aspect != Aspect::rates))
        throw WrongUse(refused + "of STREAM only the rate at the usual size is measured");
    if (quick && cell.aspect != Aspect::rates) throw WrongUse(refused + "--quick is for rates at the usual size");
}

Options table(CommandLine& line) {
    Policy& policy = line.policy;
    return with_cell_options(
        {{"--sizes", "A..B", "measure cells of one flow at each power of two (1KiB..1GiB), or at the listed sizes (4KiB,1MiB)",
          [&line](const std::string& sizes) { ask_all(line, Aspect::sizes, sizes); }},
         {"--latency", "",
          "measure latencies in cells of one flow, in microseconds: of a tiny copy, of dependent loads by a kernel, of a kernel launch",
          [&line](const std::string&) { ask_all(line, Aspect::latency, ""); }},
         {"--tail", "[=N]",
          "time N single transfers (default 1000) of 16 MiB, in cells of one flow; show the 99th and 99.9th percentile and the "
          "slowest transfer, with its time. Without cells: every path in one direction, as --quick",
          [&line](const std::string& count) { ask_all(line, Aspect::tail, count); }},
         switch_option("--quick",
                       "take fewer samples and measure several pairs of GPUs at once; paths slower than similar ones are "
                       "measured again alone. Without cells: the host-device matrix in one direction, and all pairs of GPUs",
                       policy.quick),
         {"--aggressor", "CELL", "run the flows of CELL as background load beside every measured cell; may be repeated",
          [&policy](const std::string& cell) { policy.aggressors.push_back(read_aggressor(cell)); }, true},
         even_if_busy_option(policy.even_if_busy),
         {"--as-task", "GPU,GPU", "", [&line](const std::string& gpus) { line.as_task = read_numbers(gpus); }}},
        line);
}

}  // namespace

CommandLine parse_copy_options(int argc, char** argv) {
    CommandLine line = parse_command_line(argc, argv, table);
    for (Cell& cell : line.cells) {
        if (cell.aspect == Aspect::rates) cell.aspect = line.policy.aspect;
        require_measurable(cell, line.policy.quick);
    }
    if (line.policy.quick && line.policy.aspect != Aspect::rates)
        throw WrongUse("--quick is for rates at the usual size: not beside --sizes, --latency or --tail");
    return line;
}

std::string copy_help() { return help_of(text, table); }

}  // namespace nearfar
