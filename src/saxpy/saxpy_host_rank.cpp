#include "core/error.h"
#include "saxpy/saxpy_rank.h"

namespace nearfar {

SaxpyRank choose_host_rank(const Node& node, int on_host, const SaxpyOptions& options) {
    std::vector<int> homes;
    for (const int numa_node : node.usable_memory())
        if (!node.numa_node(numa_node)->cpus.empty()) homes.push_back(numa_node);
    if (homes.empty()) throw Prevented("not_allowed", "the cpuset allows no NUMA node with CPUs and memory");
    SaxpyRank rank;
    rank.numa_node = homes[static_cast<std::size_t>(on_host) % homes.size()];
    rank.open = [&node, &options, home = *rank.numa_node] {
        return std::make_unique<HostSaxpy>(node, home, options.bytes, options.threads);
    };
    for (const PciGpu& gpu : node.gpus) rank.gpus.push_back({gpu, {}, false});
    return rank;
}

}  // namespace nearfar
