// The command line of nearfar-copy.
#pragma once

#include <string>

#include "output/command_line.h"

namespace nearfar {

// Throws WrongUse or CellError.
CommandLine parse_copy_options(int argc, char** argv);

std::string copy_help();

}  // namespace nearfar
