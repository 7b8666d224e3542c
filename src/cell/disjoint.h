// Which lone flows between GPUs may be measured at the same time without one noticing the other.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "cell/cell.h"

namespace nearfar {

// Sets of positions in `cells`; each position is in one set, and sets follow each other as their first cells do. Together are
// lone flows of one task between GPUs that share no GPU, are all written or all read, all by copy engines or all by kernels, and
// have links of their own; everything else is a set of one. The same cells always give the same sets.
std::vector<std::vector<std::size_t>> disjoint_sets(const std::vector<Cell>& cells,
                                                    const std::function<bool(const Flow&)>& has_own_links);

// The same for rounds of visits, where company has to be worth it: sets of fewer than three cells are left as single ones, and so are
// a cell that is there twice, and the first of each kind in company, beside which the others are judged. `kind`: what those have in common that should be as fast.
std::vector<std::vector<std::size_t>> company_sets(const std::vector<Cell>& cells,
                                                   const std::function<bool(const Flow&)>& has_own_links,
                                                   const std::function<std::string(const Cell&)>& kind);

}  // namespace nearfar
