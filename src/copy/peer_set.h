// Pairs of GPUs measured in one common window, each as a cell of its own.
#pragma once

#include <vector>

#include "cell/policy.h"
#include "copy/copy_setting.h"
#include "engine/rounds.h"

namespace nearfar {

// Lone flows between GPUs that share no GPU. What goes wrong with one is told of it alone; the others, whose window it spoilt,
// have neither result nor trouble. So has a cell that moved nothing beside the others.
std::vector<SetOutcome> measure_peer_set(const std::vector<Cell>& cells, const Policy& policy, double seconds,
                                         CopySetting& setting);

}  // namespace nearfar
