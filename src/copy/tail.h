// The tail of a lone flow: many transfers, each timed by itself, because what comes once in a thousand is in no median.
#pragma once

#include <vector>

#include "cell/policy.h"
#include "cell/results.h"
#include "copy/copy_setting.h"

namespace nearfar {

// The visit's share of `policy.tail` transfers of a lone flow: the time of each in microseconds, and when the slowest was. Fewer, and not
// converged, where `seconds` or half of the time after which a cell hangs are over before. Throws Prevented where the cell is another.
std::vector<CellResult> measure_tail(const Cell& cell, const Policy& policy, double seconds, CopySetting& setting);

}  // namespace nearfar
