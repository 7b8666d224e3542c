#include "mpi/contention/contention_pairs.h"

#include <algorithm>
#include <map>
#include <optional>
#include <stdexcept>

#include "core/error.h"
#include "core/options.h"
#include "node/cpus.h"

namespace nearfar {
namespace {

constexpr int most_numa_nodes = 1023;

std::vector<int> cores_on(const Node& node, int index) {
    const NumaNode* const numa = node.numa_node(index);
    if (numa == nullptr || numa->is_gpu_memory || numa->cpus.empty()) {
        std::string known;
        for (const NumaNode& each : node.numa_nodes)
            if (!each.is_gpu_memory && !each.cpus.empty()) known += (known.empty() ? "" : ", ") + std::to_string(each.index);
        throw WrongUse("--between: " + node.hostname + " has no cores on NUMA node " + std::to_string(index) +
                       "; it has some on: " + known);
    }
    return intersection(numa->cpus, node.one_cpu_a_core);
}

// Of the cores but `other` the one that fewest pairs have.
int least_used(const Node& node, int numa_node, const std::map<int, int>& uses, std::optional<int> other) {
    std::vector<int> cores = cores_on(node, numa_node);
    if (cores.empty()) throw Prevented("not_allowed", numa_node_name(numa_node) + " has no core that this process may use");
    if (other) cores.erase(std::remove(cores.begin(), cores.end(), *other), cores.end());
    if (cores.empty())
        throw Prevented("not_allowed", numa_node_name(numa_node) +
                                           " has one core that this process may use, and each rank of a pair has its own");
    const auto used = [&uses](int core) { return uses.count(core) == 0 ? 0 : uses.at(core); };
    return *std::min_element(cores.begin(), cores.end(), [&](int a, int b) { return used(a) < used(b); });
}

std::string text_of(const NumaPair& pair) { return "n" + std::to_string(pair.first) + "-n" + std::to_string(pair.second); }

}  // namespace

std::vector<NumaPair> parse_numa_pairs(const std::string& list) {
    std::vector<NumaPair> pairs;
    for (const std::string& text : list_value("--between", list)) {
        const std::size_t dash = text.find('-');
        if (dash == std::string::npos)
            throw WrongUse("--between '" + text + "': expected the NUMA nodes of two ranks, such as 0-1");
        const NumaPair pair{whole_value("--between", text.substr(0, dash), 0, most_numa_nodes),
                            whole_value("--between", text.substr(dash + 1), 0, most_numa_nodes)};
        for (const NumaPair& other : pairs)
            if (std::minmax(pair.first, pair.second) == std::minmax(other.first, other.second))
                throw WrongUse("--between '" + list + "': " + text_of(pair) + " is named twice");
        pairs.push_back(pair);
    }
    return pairs;
}

std::vector<int> cpus_of_pairs(const Node& node, const std::vector<NumaPair>& pairs) {
    std::map<int, int> uses;
    std::vector<int> cpus;
    for (const NumaPair& pair : pairs) {
        std::optional<int> other;
        for (const int numa_node : {pair.first, pair.second}) {
            other = least_used(node, numa_node, uses, other);
            ++uses[*other];
            cpus.push_back(*other);
        }
    }
    return cpus;
}

void bind_before_mpi(const std::vector<NumaPair>& pairs, int rank) {
    if (static_cast<std::size_t>(rank) >= 2 * pairs.size()) return;
    try {
        unbind_thread();
        bind_thread({cpus_of_pairs(read_node(), pairs)[static_cast<std::size_t>(rank)]});
    } catch (const std::runtime_error&) {
        return;
    }
}

std::vector<Arrangement> arrangements_of_pairs(const std::vector<HostRanks>& hosts, const std::vector<NumaPair>& pairs) {
    if (hosts.size() > 1) throw WrongUse("--between measures within one host, and these ranks are on several: leave it out");
    const std::size_t ranks = hosts[0].ranks.size();
    const std::size_t wanted = 2 * pairs.size();
    if (ranks == 1)
        throw WrongUse("one rank has nobody to talk to: start " + std::to_string(wanted) + ", two for each pair of --between");
    if (ranks != wanted)
        throw WrongUse("--between has " + std::to_string(pairs.size()) + (pairs.size() == 1 ? " pair" : " pairs") +
                       " of two ranks each: start " + std::to_string(wanted) + " ranks, not " + std::to_string(ranks));
    std::vector<Arrangement> found;
    for (const NumaPair& pair : pairs) found.push_back({text_of(pair), Layout::apart, 0, 1, static_cast<int>(found.size())});
    return found;
}

}  // namespace nearfar
