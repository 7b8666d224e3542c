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

std::optional<int> distance(const Node& node, std::optional<int> from, int to) {
    const auto known = from ? node.distances.find({*from, to}) : node.distances.end();
    return known == node.distances.end() ? std::nullopt : std::optional<int>(known->second);
}

}  // namespace

std::map<int, int> memories_that_stand_for(const Node& node, const PciGpu& gpu) {
    const std::vector<int> usable = memories(node);
    std::map<std::tuple<std::optional<int>, bool, std::optional<int>>, int> first;
    std::map<int, int> found;
    for (const int memory : usable) {
        const auto kind =
            std::tuple{node.numa_node(memory)->package, gpu.numa_node == memory, distance(node, gpu.numa_node, memory)};
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
                                         distance(node, cores.index, memory)};
            found[pair] = usable.size() > most_numa_nodes ? first.emplace(kind, pair).first->second : pair;
        }
    }
    return found;
}

}  // namespace nearfar
