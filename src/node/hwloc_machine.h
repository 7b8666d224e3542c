// hwloc's view of this machine, which all of its calls need, and its sets of CPUs and NUMA nodes.
#pragma once

#include <hwloc.h>

#include <memory>
#include <type_traits>
#include <vector>

namespace nearfar {

// Read at the first call, once a process. Throws WrongUse where hwloc is too old or cannot read the machine.
hwloc_topology_t this_machine();

struct FreeBitmap {
    void operator()(hwloc_bitmap_t set) const { hwloc_bitmap_free(set); }
};
using Bitmap = std::unique_ptr<std::remove_pointer_t<hwloc_bitmap_t>, FreeBitmap>;

Bitmap bitmap_of(const std::vector<int>& indices);
// Ascending; empty for no set and for an infinite one.
std::vector<int> indices_of(hwloc_const_bitmap_t set);

}  // namespace nearfar
