// What --aggressor may name: cells whose flows run in the background.
#pragma once

#include <vector>

#include "cell/cell.h"
#include "node/node.h"

namespace nearfar {

// Throws WrongUse for STREAM flows, threads, endpoints that are not there, and a flow that is named twice.
void require_aggressors(const std::vector<Cell>& aggressors, const Node& node);

}  // namespace nearfar
