#include "gpu/rank_gpu.h"

#include "core/error.h"

namespace nearfar {

const GpuDevice& gpu_of_rank(const std::vector<GpuDevice>& gpus, int on_host, int ranks) {
    std::vector<const GpuDevice*> visible;
    for (const GpuDevice& gpu : gpus)
        if (gpu.ordinal >= 0) visible.push_back(&gpu);
    if (gpus.empty()) throw Prevented("missing_library", "this node has no NVIDIA GPU on its PCI bus; --device host needs none");
    if (visible.empty()) gpus[static_cast<std::size_t>(on_host) % gpus.size()].require();
    // A launcher that gives each task its own GPU shows one to each.
    if (visible.size() == 1) return *visible.front();
    if (visible.size() < static_cast<std::size_t>(ranks))
        throw WrongUse(std::to_string(ranks) + " ranks on this host and " + std::to_string(visible.size()) +
                       " GPUs: start one rank a GPU");
    return *visible[static_cast<std::size_t>(on_host)];
}

}  // namespace nearfar
