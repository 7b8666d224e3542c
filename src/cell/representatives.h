// Which cells stand for others on a node with many NUMA nodes: the same rule as in nearfar/cells/matrices.py,
// against the same vectors (tests/vectors/representatives.txt).
#pragma once

#include <map>
#include <utility>

#include "node/node.h"

namespace nearfar {

// For each usable memory the one that is measured with a GPU in its place: itself, or the lowest-numbered one of the same package
// and distance from the GPU's own NUMA node.
std::map<int, int> memories_that_stand_for(const Node& node, const PciGpu& gpu);

// For each pair of cores that may be used and usable memory the pair that is measured in its place: itself, or the first one of the
// same two packages and distance; cores with their own memory stand for nobody else's.
std::map<std::pair<int, int>, std::pair<int, int>> pairs_that_stand_for(const Node& node);

}  // namespace nearfar
