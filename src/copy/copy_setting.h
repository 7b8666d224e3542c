// What measuring needs beside a cell: the node, what was made ready on it, and what is known from cells before.
#pragma once

#include <vector>

#include "copy/baselines.h"
#include "copy/chase.h"
#include "gpu/buffers.h"
#include "gpu/gpu_device.h"
#include "gpu/open_gpus.h"
#include "gpu/peer_access.h"
#include "kernels/beside/kernels_beside_copies.h"
#include "node/node.h"
#include "tasks/task_pool.h"

namespace nearfar {

struct CopySetting {
    const Node& node;
    const std::vector<GpuDevice>& gpus;
    Buffers& buffers;
    PeerAccess& peers;
    TaskPool& tasks;
    OpenGpus& opened;
    Baselines& baselines;
    ChaseBench& chases;
    KernelsBesideCopies& beside;
    int round;  // of visits, from 0 on
};

}  // namespace nearfar
