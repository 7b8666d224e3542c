// On this machine: every pair of its NUMA nodes, each rank bound as it is before MPI starts, and its buffers where it is bound. MPI itself
// is not started.
#include <cstdio>
#include <stdexcept>

#include "core/error.h"
#include "mpi/contention/contention_plan.h"
#include "mpi/contention/message_traffic.h"
#include "node/cpus.h"

namespace {

using namespace nearfar;

bool held(const Node& node, const NumaPair& pair) {
    std::printf("n%d-n%d:", pair.first, pair.second);
    std::vector<int> cpus;
    try {
        cpus = cpus_of_pairs(node, {pair});
    } catch (const Prevented& why) {
        std::printf(" %s\n", why.what());
        return true;
    }
    bool right = cpus[0] != cpus[1];
    for (int rank = 0; rank < 2; ++rank) {
        const int wished = rank == 0 ? pair.first : pair.second;
        bind_before_mpi({pair}, rank);
        const std::vector<int> bound = cpus_in_effect();
        const std::vector<int> memory = MessageLink({0, 0, 1 - rank, rank == 0}, 1 << 20, 0.1).memory_nodes();
        std::printf(" rank %d on cpus %s, messages on node", rank, cpu_list(bound).c_str());
        for (const int place : memory) std::printf(" %d", place);
        std::printf(rank == 0 ? ";" : "\n");
        right = right && bound == std::vector<int>{cpus[static_cast<std::size_t>(rank)]} &&
                bound == intersection(bound, node.numa_node(wished)->cpus) &&
                (memory.empty() || memory == std::vector<int>{wished});
    }
    return right;
}

}  // namespace

int main() {
    try {
        unbind_thread();
        const Node node = read_node();
        bool all = true;
        for (const int first : node.usable_memory())
            for (const int second : node.usable_memory())
                if (first <= second && !node.numa_node(first)->cpus.empty() && !node.numa_node(second)->cpus.empty())
                    all = held(node, {first, second}) && all;
        std::printf(all ? "all held\n" : "WRONG: a rank or its messages are not where they belong\n");
        return all ? 0 : 1;
    } catch (const std::exception& error) {
        std::printf("WRONG: %s\n", error.what());
        return 1;
    }
}
