// What a program measures when it is given no cells.
#pragma once

#include <vector>

#include "cell/cell.h"
#include "node/node.h"

namespace nearfar {

// Each GPU with each NUMA node of host memory that may be used: to the GPU, back, both at once.
std::vector<Cell> host_device_matrix(const Node& node);

// The one-way cells of a quick look: each GPU with each NUMA node of host memory, to the GPU and back, and each ordered pair of
// GPUs, written and read.
std::vector<Cell> quick_matrix(const Node& node);

// STREAM triad of each NUMA node's cores on each NUMA node's memory, and of all nodes on their own at once.
std::vector<Cell> stream_matrix(const Node& node);

// What a cell names that this node does not have, in words; empty where it has all.
std::string absent_endpoint(const Cell& cell, const Node& node);

// Throws WrongUse for the first cell with an absent endpoint.
void require_endpoints(const std::vector<Cell>& cells, const Node& node);

}  // namespace nearfar
