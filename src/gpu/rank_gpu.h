// Which GPU a rank has that was started one a GPU.
#pragma once

#include <vector>

#include "gpu/gpu_device.h"

namespace nearfar {

// Of the host's rank number `on_host` of `ranks`: the visible one of that number, or the only one that it sees. Throws WrongUse for more
// ranks than GPUs, Prevented or Failure where it sees none.
const GpuDevice& gpu_of_rank(const std::vector<GpuDevice>& gpus, int on_host, int ranks);

}  // namespace nearfar
