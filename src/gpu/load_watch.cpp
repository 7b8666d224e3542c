#include "gpu/load_watch.h"

#include <algorithm>
#include <string>

namespace nearfar {

void LoadWatch::begin(const std::vector<int>& wanted) {
    for (const int gpu : wanted)
        if (const auto count = nvml_.replays(gpus_[static_cast<std::size_t>(gpu)].on_bus.pci)) replays_before_[gpu] = *count;
}

LinkState LoadWatch::look(const GpuDevice& gpu) {
    GpuUnderLoad& load = loads_[gpu.index];
    load.link = nvml_.present_link(gpu.on_bus.pci);
    for (const std::string& reason : nvml_.throttle_reasons(gpu.on_bus.pci))
        if (std::find(load.throttle.begin(), load.throttle.end(), reason) == load.throttle.end()) load.throttle.push_back(reason);
    return load.link;
}

std::vector<GpuUnderLoad> LoadWatch::seen(const std::vector<int>& wanted) const {
    std::vector<GpuUnderLoad> found;
    for (const int index : wanted) {
        const std::string& pci = gpus_[static_cast<std::size_t>(index)].on_bus.pci;
        const auto seen = loads_.find(index);
        GpuUnderLoad gpu = seen == loads_.end() ? GpuUnderLoad{} : seen->second;
        gpu.gpu = index;
        const auto before = replays_before_.find(index);
        const auto after = nvml_.replays(pci);
        if (before != replays_before_.end() && after) gpu.replays = *after - before->second;
        gpu.uncorrected_errors = nvml_.uncorrected_errors(pci);
        found.push_back(gpu);
    }
    return found;
}

}  // namespace nearfar
