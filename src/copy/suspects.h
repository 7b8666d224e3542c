// Which figures are doubted: those that lie below others of their kind.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "cell/cell.h"
#include "node/node.h"

namespace nearfar {

struct Figure {
    std::string kind;
    double rate;  // GB/s
};

// Of a quick look: positions, ascending, of the figures that are below the median of their kind by more than 3 % or by more than three deviations
// (1.4826 MAD), where these are more than the half per cent that an interval may have. Of fewer than three none is doubted.
std::vector<std::size_t> suspects(const std::vector<Figure>& figures);

// The same of figures of many visits, some of them measured in company: those below the best of their kind by more than 1 %.
std::vector<std::size_t> below_best(const std::vector<Figure>& figures);

// What a cell has in common with those that should be as fast: how many ends, directions, who drives, options, the link, and whether host memory
// is of the GPU's own NUMA node. `lanes` gives the NVLink lanes of a flow between GPUs.
std::string kind_of(const Cell& cell, const Node& node, const std::function<int(const Flow&)>& lanes);

}  // namespace nearfar
