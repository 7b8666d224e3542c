// What this machine is: packages, NUMA nodes and the GPUs on its PCI bus, from hwloc and sysfs. Says nothing of CUDA.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace nearfar {

struct Package {
    int index;
    std::vector<int> cpus;
};

struct NumaNode {
    int index;  // the operating system's
    std::optional<int> package;
    std::vector<int> cpus;
    std::uint64_t memory = 0;  // bytes
    bool is_gpu_memory = false;
    bool allowed = true;  // the cpuset lets this process allocate there
};

struct PcieLink {
    std::optional<int> gen;
    std::optional<int> width;
};

// What two ends of a link allow together.
PcieLink narrower(const PcieLink& device, const PcieLink& slot);

struct PciGpu {
    std::string pci;  // 0000:1b:00.0
    std::optional<int> numa_node;
    std::optional<int> package;
    std::vector<std::string> uplinks;  // the bridges above it, nearest first
    PcieLink max_link;                 // what device and slot allow
    bool on_bus = true;                // false: expected there, and absent
};

struct Node {
    std::string hostname;
    std::string product;
    std::vector<Package> packages;
    std::vector<NumaNode> numa_nodes;
    std::vector<PciGpu> gpus;  // in PCI bus order: the index is the GPU's number
    std::map<std::pair<int, int>, int> distances;
    std::vector<int> allowed_cpus;
    std::vector<int> one_cpu_a_core;   // the first allowed CPU of each core, for one thread a core
    std::size_t last_level_cache = 0;  // bytes, all of the node's together

    const NumaNode* numa_node(int index) const;
    // From one NUMA node to another, 10 within one; nothing where the system does not say.
    std::optional<int> distance(int from, int to) const;
    // NUMA nodes of host memory that this process may use.
    std::vector<int> usable_memory() const;
    // The allowed CPUs of a NUMA node, else those of the nearest node that has some. Throws WrongUse where the node is unknown,
    // Prevented where no CPU is allowed.
    std::vector<int> nearest_cpus(int numa_node) const;
    // The CPUs that drive a flow of a NUMA node's memory: as above, but a node with CPUs that are all forbidden is not driven from
    // elsewhere, which would measure another path: Prevented.
    std::vector<int> driving_cpus(int numa_node) const;
};

// This machine's name.
std::string hostname();

// "NUMA node 1"
std::string numa_node_name(int numa_node);

// Reads this machine. `gpu_order`, where not empty, says which PCI devices g0, g1 … are; a device that is not there stays in
// its place with on_bus = false.
Node read_node(const std::vector<std::string>& gpu_order = {});

// "0000:1b:00.0" from the forms that NVML, CUDA and sysfs use; throws WrongUse for anything else.
std::string normal_pci(const std::string& text);

}  // namespace nearfar
