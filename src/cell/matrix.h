// What a program measures when it is given no cells.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cell/cell.h"
#include "cell/results.h"
#include "node/node.h"

namespace nearfar {

// What is measured, and what is not because another cell stands for it.
struct Matrix {
    std::vector<Cell> cells;
    std::vector<NotMeasured> left_out;
};

// Which cells stand for others on a node with many NUMA nodes: the same rule as in nearfar/cells/matrices.py, against the same vectors
// (tests/vectors/representatives.txt).
//
// For each usable memory the one that is measured with a GPU in its place: itself, or the lowest-numbered one of the same package
// and distance from the GPU's own NUMA node.
std::map<int, int> memories_that_stand_for(const Node& node, const PciGpu& gpu);

// For each pair of cores that may be used and usable memory the pair that is measured in its place: itself, or the first one of the
// same two packages and distance; cores with their own memory stand for nobody else's.
std::map<std::pair<int, int>, std::pair<int, int>> pairs_that_stand_for(const Node& node);

// Each GPU with each NUMA node of host memory that may be used: to the GPU, back, both at once. `all`: no representatives.
Matrix host_device_matrix(const Node& node, bool all = false);

// The one-way cells of a quick look, and of tails: each GPU with each NUMA node of host memory, to the GPU and back, and each ordered pair of
// GPUs, written and read.
Matrix quick_matrix(const Node& node, bool all = false);

// STREAM triad of each NUMA node's cores on each NUMA node's memory, and of all nodes on their own at once.
Matrix stream_matrix(const Node& node, bool all = false);

// The cells of a check by its name, for a kit, which has no Python: the rules are those of nearfar/cells, without what the
// path classes of pairs of GPUs decide (rounds of disjoint pairs).
using CellsOf = std::function<std::vector<Cell>(const Node& node)>;
using CheckSets = std::map<std::string, CellsOf>;
const CheckSets& check_sets();

// What a cell names that this node does not have, in words; empty where it has all.
std::string absent_endpoint(const Cell& cell, const Node& node);

// Throws WrongUse for the first cell with an absent endpoint.
void require_endpoints(const std::vector<Cell>& cells, const Node& node);

// Of --aggressor, whose flows run in the background: throws WrongUse for STREAM flows, threads, endpoints that are not there, and a flow that is
// named twice.
void require_aggressors(const std::vector<Cell>& aggressors, const Node& node);

}  // namespace nearfar
