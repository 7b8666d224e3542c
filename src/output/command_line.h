// The words after a program's name that all programs share.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cell/cell.h"
#include "cell/measure.h"

namespace nearfar {

struct CommandLine {
    std::vector<std::string> words;  // as given, for the document
    std::vector<Cell> cells;         // none: the program's own matrix
    bool list = false;
    bool help = false;
    bool version = false;
    bool json = false;
    std::string json_file;          // empty: standard output
    std::vector<std::string> gpus;  // PCI addresses of g0, g1 …; none: as found
    bool absent_fails = false;      // a cell with an absent endpoint fails, and the rest is measured
    Policy policy;
    std::vector<int> as_task;  // internal: be a task of another such process, on these GPUs
};

// Throws WrongUse or CellError. Reads `--cells FILE` (or standard input for `-`): one cell a line, # begins a comment.
CommandLine parse_command_line(int argc, char** argv);

extern const char* const common_options_help;

}  // namespace nearfar
