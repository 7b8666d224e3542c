// The flows of --aggressor: each task of each is a process of its own.
#pragma once

#include <string>
#include <vector>

#include "cell/cell.h"
#include "engine/background.h"
#include "gpu/gpu_device.h"
#include "node/node.h"

namespace nearfar {

// What moves the flows of these cells in the background. Streams of one process that keep one copy engine busy are not served in
// turn, so that an aggressor of this process would stop a cell, or be stopped by it; processes are. `environment`: as this process
// was given it; `patience`: seconds in which a process has to answer.
std::vector<BackgroundFlow> aggressor_flows(const std::vector<Cell>& aggressors, const Node& node,
                                            const std::vector<GpuDevice>& gpus, const std::vector<std::string>& environment,
                                            double patience);

}  // namespace nearfar
