// Network adapters as far as binding needs them: their NUMA nodes, from sysfs.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace nearfar {

struct Nic {
    std::string name;              // mlx5_0
    std::optional<int> numa_node;  // nothing where the system does not say
};

// The adapters for RDMA (InfiniBand, RoCE, Slingshot's and Omni-Path's verbs) under `sysfs`, by name. Ethernet without RDMA is left out:
// the management network is no path for MPI.
std::vector<Nic> read_nics(const std::string& sysfs = "/sys");

// The NUMA node of the adapter that is named (of any kind), or of those there are where all have the same; nothing where none is known. Throws
// WrongUse for a name that is not there.
std::optional<int> nic_node(const std::string& name, const std::string& sysfs = "/sys");

}  // namespace nearfar
