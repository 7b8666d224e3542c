// What is said on standard error; dropped where nobody takes it within a moment, so that a reader that does not read stops nothing.
#pragma once

#include <cstddef>
#include <string>

namespace nearfar {

// "NAME: WORDS", in one line.
void say(const std::string& name, const std::string& words);

// The line of progress: overwritten on a terminal, one below the other elsewhere.
void print_progress(std::size_t position, std::size_t count, const std::string& words);
void end_progress();

}  // namespace nearfar
