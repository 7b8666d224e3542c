// A text on its way out of a program.
#pragma once

#include <string>

namespace nearfar {

// Prints a text to a file, beside it first, then renamed (empty: standard output). Throws WrongUse where that cannot be.
void print_text(const std::string& file, const std::string& text);

}  // namespace nearfar
