// What a rank of nearfar-kernels saxpy runs on: its GPU, or host memory in its place.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/saxpy/saxpy.h"
#include "kernels/saxpy/saxpy_options.h"
#include "node/node.h"
#include "output/document.h"

namespace nearfar {

struct SaxpyRank {
    // Opens the device. Only after no two ranks have chosen the same: the second would find it busy.
    std::function<std::unique_ptr<SaxpyDevice>()> open;
    std::optional<int> gpu;         // its number in the notation
    std::string identity;           // what no other rank of the host may have too; empty: nothing
    std::optional<int> numa_node;   // where it hangs
    std::vector<DocumentGpu> gpus;  // of the whole node, as this rank sees them
    std::string driver;             // versions; empty where there is none
    std::string cuda;
};

// Chooses the GPU of the host's rank number `on_host` of `ranks`: the visible one of that number, or the only one that it sees. Throws
// WrongUse for more ranks than GPUs, Prevented or Failure where the GPU cannot be used. `node` and `options` outlive what it returns.
SaxpyRank choose_gpu_rank(const Node& node, int on_host, int ranks, const SaxpyOptions& options);

// Host memory on the NUMA nodes in turn.
SaxpyRank choose_host_rank(const Node& node, int on_host, const SaxpyOptions& options);

}  // namespace nearfar
