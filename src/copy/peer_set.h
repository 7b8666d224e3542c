// Pairs of GPUs measured in one common window, each as a cell of its own.
#pragma once

#include <functional>
#include <vector>

#include "cell/measure.h"
#include "copy/quick.h"
#include "gpu/buffers.h"
#include "gpu/gpu_device.h"
#include "gpu/peer_access.h"
#include "gpu/windowed.h"
#include "node/node.h"

namespace nearfar {

// What measuring needs beside the cells.
struct PeerSetting {
    const Node& node;
    const std::vector<GpuDevice>& gpus;
    Buffers& buffers;
    PeerAccess& peers;
    ProbedRate probed_rate;
    std::function<LinkState(const GpuDevice&)> look_under_load;  // while it moves data
};

// Lone flows between GPUs that share no GPU. What goes wrong with one is told of it alone; the others, whose window it spoilt,
// have neither result nor trouble. So has a cell that moved nothing beside the others.
std::vector<SetOutcome> measure_peer_set(const std::vector<Cell>& cells, const PeerSetting& setting, const Policy& policy,
                                         double seconds);

}  // namespace nearfar
