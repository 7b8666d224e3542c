// The command line of programs that measure cells.
#pragma once

#include <vector>

#include "cell/cell.h"
#include "cell/matrix.h"
#include "cell/policy.h"
#include "output/common_options.h"

namespace nearfar {

struct CommandLine : CommonOptions {
    std::vector<Cell> cells;  // none: those of `check`, or where it is not named the program's own matrix
    CellsOf check;
    bool list = false;
    bool absent_fails = false;  // a cell with an absent endpoint fails, and the rest is measured
    double idle = 0;            // seconds before anything is measured, in which this process leaves the machine alone
    Policy policy;
    std::vector<int> as_task;  // internal: be a task of another such process, on these GPUs
};

// The program's own options followed by those that say which cells are measured and how often.
Options with_cell_options(Options own, CommandLine& line);

// The value of a measure, of tails and sizes alone, into `policy`. Throws WrongUse that begins with `name`.
void read_aspect(Aspect aspect, const std::string& value, const std::string& name, Policy& policy);

// `table` gives all options of a program with the fields that they are read into. Throws WrongUse or CellError. Reads `--cells FILE`
// (or standard input for `-`): one cell a line, # begins a comment;
// behind a cell may stand what is measured of it: `latency`, `tail[=N]`, `sizes=A..B`, and how often: `rounds=N`. A cell that is
// named twice is measured once, as often as the one that asks for most.
CommandLine parse_command_line(int argc, char** argv, Options (*table)(CommandLine&));

}  // namespace nearfar
