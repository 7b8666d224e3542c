// Where a rank and its host memory belong: as the launcher left it, beside its GPU, or as far from it as the node allows.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "node/node.h"

namespace nearfar {

enum class Binding {
    launcher,  // "default": the CPUs that the launcher gave; memory where first touch puts it
    gpu,       // "gpu": the CPUs and the memory of the GPU's NUMA node; ranks that share it share its cores out
    wrong      // "wrong": those of the farthest NUMA node
};

const char* binding_name(Binding binding);
// "default,gpu" in that order, each once, with the word that a program has for `gpu`; throws WrongUse.
std::vector<Binding> parse_bindings(const std::string& text, const std::string& gpu = "gpu");

struct RankPlacement {
    std::vector<int> cpus;
    int memory_node = 0;
};

// A rank as the launcher left it, and the NUMA node of its GPU (nothing: the system does not say).
struct RankHome {
    std::vector<int> launcher_cpus;
    int running_on = 0;  // the CPU that it runs on now
    std::optional<int> numa_node;
    int sharers = 1;   // ranks of this host whose GPUs hang there
    int position = 0;  // among them
};

// The NUMA node of a GPU: what the system says, or the only one there is.
std::optional<int> known_home(const Node& node, const std::optional<int>& stated);

// Of ranks without a GPU: the NUMA nodes with CPUs and memory in turn. Throws Prevented (not_allowed) where there is none.
int home_in_turn(const Node& node, int on_host);

// Throws Prevented: `unsupported` where the node has nothing to choose from or does not say what is near, `not_allowed` where
// the cpuset forbids the place. `node` is read with the whole cpuset, not with the launcher's binding.
RankPlacement place_rank(const Node& node, const RankHome& home, Binding binding);

}  // namespace nearfar
