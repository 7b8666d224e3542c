#include "kernels/saxpy/saxpy_rank.h"

namespace nearfar {

SaxpyRank choose_host_rank(const Node& node, int on_host, const SaxpyOptions& options) {
    SaxpyRank rank;
    rank.numa_node = home_in_turn(node, on_host);
    rank.open = [&node, &options, home = *rank.numa_node] {
        return std::make_unique<HostSaxpy>(node, home, options.bytes, options.threads);
    };
    for (const PciGpu& gpu : node.gpus) rank.gpus.push_back({gpu, {}, false});
    return rank;
}

}  // namespace nearfar
