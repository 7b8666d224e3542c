#include "copy/copy_options.h"

#include "cell/sizes.h"
#include "core/error.h"

namespace nearfar {
namespace {

const HelpText text{
    "nearfar-copy [CELL...] [options]: measures copies between host memory and GPUs, between GPUs, and within one\n\n"
    "A cell is flows at the same time: n0:g1 (NUMA node 0's memory to GPU 1), g1:n0 (back), n0:g0+g0:n0 (both at once).\n"
    "@n1 drives a flow from NUMA node 1; /sm copies by a kernel; /pageable, /huge choose the host memory; /x4 shares a\n"
    "flow among four tasks. g0:g1 is a write by GPU 0's copy engine, g0:g1@g1 a read by GPU 1's, g0:g1/staged goes through the\n"
    "host with peer access off; g0:g0 stays in GPU 0's memory. GPUs count in PCI bus order over all the node's. Without cells: every NUMA node with every GPU.\n\n",
    "\nexamples:\n"
    "  nearfar-copy                          the whole host-device matrix, as a table\n"
    "  nearfar-copy n0:g0 n1:g0 --json       one GPU from two NUMA nodes, as a document\n"
    "  nearfar-copy n0:g0+n0:g1+n0:g2+n0:g3  four GPUs at once from one NUMA node\n"
    "  nearfar-copy g0:g1+g1:g0              two GPUs, both directions at once\n"
    "  nearfar-copy n0:g0 --sizes 1KiB..1GiB how bandwidth grows with size\n"
    "  nearfar-copy --quick                  every path one way, in a few seconds\n"
    "  nearfar-copy --tail                   the slowest of 1000 transfers over every path, and when it was\n"
    "  nearfar-copy --aggressor n0:g2        the matrix, with the path to one GPU loaded by another process\n"
    "\nexit codes: 0 measured, 1 a cell failed (wrong data, lost GPU), 2 wrong use, 3 something could not be measured\n"};

constexpr int usual_tail = 1000;
constexpr int most_tail = 100000;
constexpr double between_latencies = 0.1;  // seconds: each visit is by another CPU, which counts for more than the moment

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

Options table(CommandLine& line) {
    Policy& policy = line.policy;
    return with_cell_options(
        {{"--sizes", "A..B", "lone flows at each power of two (1KiB..1GiB), or a list (4KiB,1MiB); with the half-bandwidth size",
          [&policy](const std::string& sizes) { policy.sizes = parse_sizes(sizes); }},
         switch_option("--latency",
                       "of lone flows, three times in microseconds: a tiny copy, dependent loads by a kernel, a launch",
                       policy.latency),
         {"--tail", "[=N]",
          "of lone flows, N transfers (1000) of 16 MiB, each timed by itself: the slowest in a hundred, in a thousand, of all, and\n"
          "when it was. Without cells: every path one way, as --quick",
          [&policy](const std::string& count) {
              policy.tail = count.empty() ? usual_tail : whole_value("--tail", count, 1, most_tail);
          }},
         switch_option("--quick",
                       "few samples, pairs of GPUs together; what lies below its like is measured again alone. Without\n"
                       "cells: the host-device matrix one way, and all pairs of GPUs, written and read",
                       policy.quick),
         {"--aggressor", "CELL",
          "keep CELL's flows running beside every measured cell, as a fault or a neighbour would (repeatable)",
          [&policy](const std::string& cell) { policy.aggressors.push_back(read_aggressor(cell)); }, true},
         even_if_busy_option(policy.even_if_busy),
         {"--as-task", "GPU,GPU", "", [&line](const std::string& gpus) { line.as_task = read_numbers(gpus); }}},
        line);
}

}  // namespace

CommandLine parse_copy_options(int argc, char** argv) {
    CommandLine line = parse_command_line(argc, argv, table);
    if (line.policy.quick && (line.policy.latency || !line.policy.sizes.empty()))
        throw WrongUse("--quick is for rates at the usual size: not beside --sizes or --latency");
    if (line.policy.tail > 0 && (line.policy.quick || line.policy.latency || !line.policy.sizes.empty()))
        throw WrongUse("--tail is for transfers of one size, each timed by itself: not beside --quick, --sizes or --latency");
    if (line.policy.latency) line.policy.between_visits = between_latencies;
    return line;
}

std::string copy_help() { return help_of(text, table); }

}  // namespace nearfar
