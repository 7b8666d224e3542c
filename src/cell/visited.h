// The results of several visits to a cell as one.
#pragma once

#include <vector>

#include "cell/policy.h"
#include "cell/results.h"

namespace nearfar {

// Adds the results of a later visit to those of a cell so far (empty before its first), one by one in their order.
void add_visit(std::vector<CellResult>& known, std::vector<CellResult> visit);

// Whether a visit more would say little: there were policy.least_visits, and what has a plateau has reached it again (policy.again); of anything
// else the interval is narrow (policy.target).
bool is_settled(const std::vector<CellResult>& known, const Policy& policy);

}  // namespace nearfar
