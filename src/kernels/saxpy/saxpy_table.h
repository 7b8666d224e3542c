// The figures of nearfar-kernels saxpy for a terminal.
#pragma once

#include <string>
#include <vector>

#include "cell/results.h"

namespace nearfar {

// A line for each figure: efficiencies, times and ratios; of rates the least, mean and greatest of the ranks.
std::string saxpy_table(const std::vector<SubjectResult>& results);

}  // namespace nearfar
