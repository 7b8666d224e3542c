// A file with a cell, or another subject, on each line.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/options.h"

namespace nearfar {

struct FileLine {
    std::string place;  // "FILE:3"
    std::string text;
};

// The lines of a file, or of standard input for "-", without their comments (from #) and blanks, those that are empty left out. Throws
// WrongUse for what is no text, cannot be read, or has no line.
std::vector<FileLine> cell_lines(const std::string& name);

// --cells FILE|-, of which `read` gets the name.
Option cells_option(const std::function<void(const std::string&)>& read);

}  // namespace nearfar
