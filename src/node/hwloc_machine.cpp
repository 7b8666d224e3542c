#include "node/hwloc_machine.h"

#include "core/error.h"

namespace nearfar {
namespace {

using Topology = std::unique_ptr<hwloc_topology, decltype(&hwloc_topology_destroy)>;

Topology load_topology() {
    if (hwloc_get_api_version() < 0x00020000)
        throw WrongUse("hwloc is older than 2.0; install hwloc 2 (apt, dnf: hwloc; Spack: hwloc@2:)");
    hwloc_topology_t raw = nullptr;
    if (hwloc_topology_init(&raw) != 0) throw WrongUse("hwloc does not start on this machine");
    Topology topology(raw, hwloc_topology_destroy);
    // This system, even where HWLOC_XMLFILE describes it: otherwise hwloc would bind nothing and report success.
    hwloc_topology_set_flags(raw, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED | HWLOC_TOPOLOGY_FLAG_IS_THISSYSTEM);
    hwloc_topology_set_type_filter(raw, HWLOC_OBJ_BRIDGE, HWLOC_TYPE_FILTER_KEEP_ALL);
    hwloc_topology_set_type_filter(raw, HWLOC_OBJ_PCI_DEVICE, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
    if (hwloc_topology_load(raw) != 0) throw WrongUse("hwloc cannot read this machine");
    return topology;
}

}  // namespace

hwloc_topology_t this_machine() {
    static const Topology topology = load_topology();
    return topology.get();
}

Bitmap bitmap_of(const std::vector<int>& indices) {
    Bitmap set(hwloc_bitmap_alloc());
    for (const int index : indices) hwloc_bitmap_set(set.get(), static_cast<unsigned>(index));
    return set;
}

std::vector<int> indices_of(hwloc_const_bitmap_t set) {
    std::vector<int> found;
    if (set == nullptr || hwloc_bitmap_weight(set) < 0) return found;
    for (int i = hwloc_bitmap_first(set); i >= 0; i = hwloc_bitmap_next(set, i)) found.push_back(i);
    return found;
}

}  // namespace nearfar
