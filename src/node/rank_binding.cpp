#include "node/rank_binding.h"

#include <algorithm>
#include <array>

#include "core/error.h"
#include "core/options.h"
#include "node/cpus.h"

namespace nearfar {
namespace {

int numa_node_of(const Node& node, int cpu) {
    for (const NumaNode& numa : node.numa_nodes)
        if (std::find(numa.cpus.begin(), numa.cpus.end(), cpu) != numa.cpus.end()) return numa.index;
    throw Prevented("not_allowed", "the system does not say which NUMA node CPU " + std::to_string(cpu) + " belongs to");
}

// Where first touch puts the pages of a thread on this NUMA node: its own memory, else the nearest that may be used.
int touched_memory(const Node& node, int numa_node) {
    const std::vector<int> usable = node.usable_memory();
    if (usable.empty()) throw Prevented("not_allowed", "the cpuset allows no host memory");
    if (std::find(usable.begin(), usable.end(), numa_node) != usable.end()) return numa_node;
    return *std::min_element(usable.begin(), usable.end(),
                             [&](int a, int b) { return node.distance(numa_node, a) < node.distance(numa_node, b); });
}

bool has_cpus(const Node& node, int numa_node) {
    return !intersection(node.numa_node(numa_node)->cpus, node.allowed_cpus).empty();
}

int farthest(const Node& node, int home) {
    std::vector<int> others;
    for (const int numa_node : node.usable_memory())
        if (numa_node != home && has_cpus(node, numa_node)) others.push_back(numa_node);
    if (others.empty())
        throw Prevented("unsupported",
                        "there is no NUMA node beside " + std::to_string(home) + " that may be used: no binding is wrong");
    return *std::max_element(others.begin(), others.end(),
                             [&](int a, int b) { return node.distance(home, a) < node.distance(home, b); });
}

// One hardware thread of each core, and no core of two ranks; all CPUs where there are fewer cores than ranks.
std::vector<int> share_of(const Node& node, const std::vector<int>& cpus, int position, int sharers) {
    const std::vector<int> cores = intersection(cpus, node.one_cpu_a_core);
    const std::ptrdiff_t each = static_cast<std::ptrdiff_t>(cores.size()) / sharers;
    if (sharers < 2 || each == 0) return cpus;
    return {cores.begin() + position * each, cores.begin() + (position + 1) * each};
}

}  // namespace

const char* binding_name(Binding binding) {
    switch (binding) {
        case Binding::launcher: return "default";
        case Binding::gpu: return "gpu";
        case Binding::wrong: break;
    }
    return "wrong";
}

std::vector<Binding> parse_bindings(const std::string& text, const std::string& gpu) {
    constexpr std::array<Binding, 3> all{Binding::launcher, Binding::gpu, Binding::wrong};
    std::vector<Binding> found;
    for (const std::string& word : list_value("--binding", text)) {
        found.push_back(all[choice_value("--binding", word, {"default", gpu, "wrong"})]);
        if (std::count(found.begin(), found.end(), found.back()) > 1) throw WrongUse("--binding: '" + word + "' is named twice");
    }
    return found;
}

std::optional<int> known_home(const Node& node, const std::optional<int>& stated) {
    if (stated) return stated;
    std::vector<int> hosts;
    for (const NumaNode& numa : node.numa_nodes)
        if (!numa.is_gpu_memory) hosts.push_back(numa.index);
    return hosts.size() == 1 ? std::optional<int>(hosts.front()) : std::nullopt;
}

int home_in_turn(const Node& node, int on_host) {
    std::vector<int> homes;
    for (const int numa_node : node.usable_memory())
        if (!node.numa_node(numa_node)->cpus.empty()) homes.push_back(numa_node);
    if (homes.empty()) throw Prevented("not_allowed", "the cpuset allows no NUMA node with CPUs and memory");
    return homes[static_cast<std::size_t>(on_host) % homes.size()];
}

RankPlacement place_rank(const Node& node, const RankHome& home, Binding binding) {
    if (binding == Binding::launcher) return {home.launcher_cpus, touched_memory(node, numa_node_of(node, home.running_on))};
    if (!home.numa_node)
        throw Prevented("unsupported",
                        "the system does not say which NUMA node the GPU is attached to: nothing is near and nothing is far");
    if (binding == Binding::gpu)
        return {share_of(node, node.driving_cpus(*home.numa_node), home.position, home.sharers), *home.numa_node};
    const int far = farthest(node, *home.numa_node);
    return {node.driving_cpus(far), far};
}

}  // namespace nearfar
