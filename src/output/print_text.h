// A text on its way out of a program.
#pragma once

#include <string>

namespace nearfar {

// Throws WrongUse where a text cannot be printed to the file, so that nothing is measured in vain; empty: standard output.
void require_writable(const std::string& file);

// Removes what an earlier run has left there: were this one killed, it would pass for its own.
void remove_former(const std::string& file);

// Prints a text to a file, beside it first, then renamed (empty: standard output); where the file is a symbolic link, to what it leads
// to. Throws WrongUse where that cannot be.
void print_text(const std::string& file, const std::string& text);

}  // namespace nearfar
