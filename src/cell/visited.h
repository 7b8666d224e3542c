// The results of several visits to a cell as one.
#pragma once

#include <vector>

#include "cell/policy.h"
#include "cell/results.h"

namespace nearfar {

// Adds the results of a later visit to those of a cell so far (empty before its first), one by one in their order; without single samples
// that are above what the flows' links can carry.
void add_visit(std::vector<CellResult>& known, std::vector<CellResult> visit);

// Whether what has a plateau has reached it again, and of anything else the interval is narrow.
bool is_settled(const CellResult& known, const Policy& policy);

// Whether there were as many visits as visits_for() wants.
bool is_visited_enough(const std::vector<CellResult>& known, const Policy& policy);

}  // namespace nearfar
