// What the driver says of each GPU while it moves data.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "cell/results.h"
#include "gpu/gpu_device.h"
#include "node/nvml.h"

namespace nearfar {

class LoadWatch {
public:
    LoadWatch(const Nvml& nvml, const std::vector<GpuDevice>& gpus) : nvml_(nvml), gpus_(gpus) {}

    // Before anything is measured: what the counters of these GPUs say.
    void begin(const std::vector<int>& wanted);
    // While the GPU moves data. Returns its link's state.
    LinkState look(const GpuDevice& gpu);
    std::vector<GpuUnderLoad> seen(const std::vector<int>& wanted) const;

private:
    const Nvml& nvml_;
    const std::vector<GpuDevice>& gpus_;
    std::map<int, std::uint64_t> replays_before_;
    std::map<int, GpuUnderLoad> loads_;
};

}  // namespace nearfar
