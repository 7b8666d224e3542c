#include "tests/gpu/tested_gpus.h"

#include "tests/emulated_cuda/runtime.h"
#include "tests/emulated_cuda/settings.h"

namespace nearfar {

Node node_with_gpus() {
    Node node = read_node({});
    node.gpus.clear();
    for (int gpu = 0; gpu < emulated_cuda::settings().gpus; ++gpu) {
        PciGpu on_bus;
        on_bus.pci = emulated_cuda::pci_address(gpu);
        on_bus.numa_node = node.usable_memory().front();
        node.gpus.push_back(on_bus);
    }
    return node;
}

void break_gpu(const GpuDevice& gpu) { emulated_cuda::lose(gpu.ordinal, cudaErrorIllegalAddress); }

}  // namespace nearfar
