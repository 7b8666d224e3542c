// Where a rank and its vectors come to lie under every binding, for a GPU on each NUMA node of the machine that it runs on:
//
//   launched on cpus 2
//   home 0, default: cpus 2, memory of node 1
//   home 0, gpu: cpus 0-1, memory of node 0
//
// tests/guest/ runs it in a guest with several NUMA nodes, started on one CPU as a launcher would, and reads the lines.
#include <sched.h>

#include <cstdio>
#include <exception>

#include "core/error.h"
#include "memory/host_memory.h"
#include "node/cpus.h"
#include "node/node.h"
#include "node/rank_binding.h"

using namespace nearfar;

namespace {

constexpr std::size_t vector_bytes = std::size_t{1} << 20;

bool places(const Node& node, const RankHome& home, Binding binding) {
    std::printf("home %d, %s: ", *home.numa_node, binding_name(binding));
    try {
        const RankPlacement wished = place_rank(node, home, binding);
        const std::vector<int> in_effect = bind_thread(wished.cpus);
        const HostBuffer vectors(node, wished.memory_node, vector_bytes, HostPages::ordinary, 1);
        const std::vector<int>& where = vectors.memory_nodes();
        std::printf("cpus %s, memory of node %d\n", cpu_list(in_effect).c_str(), where.front());
        return where == std::vector<int>{wished.memory_node} && in_effect == wished.cpus;
    } catch (const Prevented& why) {
        std::printf("%s: %s\n", why.code.c_str(), why.what());
        return true;
    }
}

}  // namespace

int main() {
    try {
        const std::vector<int> launched = cpus_in_effect();
        const int running_on = sched_getcpu();
        unbind_thread();
        const Node node = read_node();
        std::printf("launched on cpus %s\n", cpu_list(launched).c_str());
        bool held = true;
        for (const int numa_node : node.usable_memory())
            for (const Binding binding : {Binding::launcher, Binding::gpu, Binding::wrong})
                held = places(node, {launched, running_on, numa_node, 1, 0}, binding) && held;
        std::printf(held ? "all held\n" : "WRONG: a rank is not where it was placed\n");
        return held ? 0 : 1;
    } catch (const std::exception& error) {
        std::printf("WRONG: %s\n", error.what());
        return 1;
    }
}
