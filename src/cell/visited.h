// The results of several visits to a cell as one.
#pragma once

#include <vector>

#include "cell/results.h"

namespace nearfar {

// Adds the results of a later visit to those of a cell so far (empty before its first), one by one in their order.
void add_visit(std::vector<CellResult>& known, std::vector<CellResult> visit);

// Whether a visit more would say little: what has a plateau has reached it again within `within`, and of anything else the medians of the
// visits agree within it; all from `least` visits on.
bool is_settled(const std::vector<CellResult>& known, std::size_t least, double within);

}  // namespace nearfar
