#include <cuda_runtime_api.h>

#include "gpu/gpu_call.h"
#include "gpu/gpu_device.h"
#include "gpu/rank_gpu.h"
#include "kernels/saxpy/saxpy_gpu.h"
#include "kernels/saxpy/saxpy_rank.h"

namespace nearfar {

SaxpyRank choose_gpu_rank(const Node& node, int on_host, int ranks, const SaxpyOptions& options) {
    const Nvml nvml;
    std::vector<GpuDevice> gpus = find_gpus(node, nvml, start_cuda(), options.even_if_busy);
    const GpuDevice& gpu = gpu_of_rank(gpus, on_host, ranks);
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
