// Network adapters as far as binding needs them: their NUMA nodes, from sysfs.
#pragma once

#include <optional>
#include <string>

namespace nearfar {

// The NUMA node of the adapter that is named (of any kind), or of those for RDMA where all have the same; nothing where none is known. Throws
// WrongUse for a name that is not there.
std::optional<int> nic_node(const std::string& name, const std::string& sysfs = "/sys");

}  // namespace nearfar
