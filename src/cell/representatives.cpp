#include "cell/representatives.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <vector>

#include "node/cpus.h"

namespace nearfar {
namespace {

constexpr std::size_t most_numa_nodes = 8;  // up to so many each is measured

std::vector<int> memories(const Node& node) {
    std::vector<int> usable = node.usable_memory();
    std::sort(usable.begin(), usable.end());
    return usable;
}

}  // namespace

std::map<int, int> memories_that_stand_for(const Node& node, const PciGpu& gpu) {
    const std::vector<int> usable = memories(node);
    std::map<std::tuple<std::optional<int>, bool, std::optional<int>>, int> first;
    std::map<int, int> found;
    for (const int memory : usable) {
        const auto away = gpu.numa_node ? node.distance(*gpu.numa_node, memory) : std::nullopt;
        const auto kind = std::tuple{node.numa_node(memory)->package, gpu.numa_node == memory, away};
        found[memory] = usable.size() > most_numa_nodes ? first.emplace(kind, memory).first->second : memory;
    }
    return found;
}

std::map<std::pair<int, int>, std::pair<int, int>> pairs_that_stand_for(const Node& node) {
    const std::vector<int> usable = memories(node);
    std::map<std::tuple<std::optional<int>, std::optional<int>, bool, std::optional<int>>, std::pair<int, int>> first;
    std::map<std::pair<int, int>, std::pair<int, int>> found;
    for (const NumaNode& cores : node.numa_nodes) {
        if (intersection(cores.cpus, node.allowed_cpus).empty()) continue;
        for (const int memory : usable) {
            const std::pair pair{cores.index, memory};
            const auto kind = std::tuple{cores.package, node.numa_node(memory)->package, cores.index == memory,
                                         node.distance(cores.index, memory)};
            found[pair] = usable.size() > most_numa_nodes ? first.emplace(kind, pair).first->second : pair;
        }
    }
    return found;
}

}  // namespace nearfar
