// The GPUs that a test of gpu/ runs on: real ones, or emulated ones in tests/emulated_cuda.
#pragma once

#include "gpu/gpu_device.h"
#include "node/node.h"

namespace nearfar {

Node node_with_gpus();

// Gives a GPU's context an error that stays, as after an Xid.
void break_gpu(const GpuDevice& gpu);

}  // namespace nearfar
