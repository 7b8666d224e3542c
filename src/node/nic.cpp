#include "node/nic.h"

#include <filesystem>
#include <fstream>
#include <set>

#include "core/error.h"

namespace nearfar {
namespace {

namespace fs = std::filesystem;

std::optional<int> numa_node_of(const fs::path& adapter) {
    std::ifstream file(adapter / "device" / "numa_node");
    int node = -1;
    if (!(file >> node) || node < 0) return {};
    return node;
}

}  // namespace

std::optional<int> nic_node(const std::string& name, const std::string& sysfs) {
    if (!name.empty()) {
        for (const char* const kind : {"infiniband", "net"}) {
            const fs::path adapter = fs::path(sysfs) / "class" / kind / name;
            if (fs::exists(adapter)) return numa_node_of(adapter);
        }
        throw WrongUse("--nic " + name + ": no such adapter under " + sysfs + "/class/infiniband or net");
    }
    std::set<int> nodes;
    std::error_code absent;
    // Those for RDMA (InfiniBand, RoCE, Slingshot's and Omni-Path's verbs): the management network is no path for MPI.
    for (const fs::directory_entry& entry : fs::directory_iterator(fs::path(sysfs) / "class" / "infiniband", absent))
        if (const std::optional<int> node = numa_node_of(entry.path())) nodes.insert(*node);
    if (nodes.size() > 1) throw WrongUse("the NICs are on several NUMA nodes: say which with --nic");
    if (nodes.empty()) return {};
    return *nodes.begin();
}

}  // namespace nearfar
