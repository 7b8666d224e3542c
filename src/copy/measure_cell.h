// One cell of copies: planned, poisoned, measured, verified.
#pragma once

#include <vector>

#include "cell/policy.h"
#include "cell/results.h"
#include "copy/copy_setting.h"

namespace nearfar {

// The results of a cell in at most `seconds`: one, or one for each of policy.sizes, or its three latencies. Throws Prevented or Failure.
std::vector<CellResult> measure_cell(const Cell& cell, const Policy& policy, double seconds, CopySetting& setting);

}  // namespace nearfar
