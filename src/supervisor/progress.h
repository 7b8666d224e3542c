// The line of progress on standard error: overwritten on a terminal, one below the other elsewhere.
#pragma once

#include <cstddef>
#include <string>

namespace nearfar {

void print_progress(std::size_t position, std::size_t count, const std::string& words);
void end_progress();

}  // namespace nearfar
