#include <cuda_runtime_api.h>

#include "core/error.h"
#include "gpu/gpu_call.h"
#include "gpu/gpu_device.h"
#include "saxpy/saxpy_gpu.h"
#include "saxpy/saxpy_rank.h"

namespace nearfar {
namespace {

const GpuDevice& choose(const std::vector<GpuDevice>& gpus, int on_host, int ranks) {
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

}  // namespace

SaxpyRank choose_gpu_rank(const Node& node, int on_host, int ranks, const SaxpyOptions& options) {
    const Nvml nvml;
    std::vector<GpuDevice> gpus = find_gpus(node, nvml, start_cuda(), options.even_if_busy);
    const GpuDevice& gpu = choose(gpus, on_host, ranks);
    gpu.require();
    SaxpyRank rank;
    rank.gpu = gpu.index;
    rank.identity = gpu.on_bus.pci;
    rank.numa_node = known_home(node, gpu.on_bus.numa_node);
    for (const GpuDevice& each : gpus) rank.gpus.push_back({each.on_bus, each.management, each.ordinal >= 0});
    rank.driver = nvml.driver_version();
    rank.cuda = compiled_cuda_version();
    rank.open = [gpus, mine = gpu.index, &options]() mutable {
        open_gpus(gpus, {mine});
        gpus[static_cast<std::size_t>(mine)].require();
        return std::make_unique<GpuSaxpy>(gpus[static_cast<std::size_t>(mine)], options.bytes);
    };
    return rank;
}

}  // namespace nearfar
