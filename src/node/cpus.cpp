#include "node/cpus.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>

#include "core/error.h"
#include "node/hwloc_machine.h"

namespace nearfar {

std::string cpu_list(const std::vector<int>& cpus) {
    std::string text;
    for (std::size_t first = 0; first < cpus.size();) {
        std::size_t last = first;
        while (last + 1 < cpus.size() && cpus[last + 1] == cpus[last] + 1) ++last;
        if (!text.empty()) text += ',';
        text += std::to_string(cpus[first]);
        if (last > first) text += '-' + std::to_string(cpus[last]);
        first = last + 1;
    }
    return text;
}

std::vector<int> cpus_in_effect() {
    const Bitmap set = bitmap_of({});
    if (hwloc_get_cpubind(this_machine(), set.get(), HWLOC_CPUBIND_THREAD) != 0) return {};
    return indices_of(set.get());
}

std::vector<int> bind_thread(const std::vector<int>& cpus) {
    if (hwloc_set_cpubind(this_machine(), bitmap_of(cpus).get(), HWLOC_CPUBIND_THREAD) != 0)
        throw Prevented("not_allowed", "binding to CPUs " + cpu_list(cpus) + " was refused: " + std::strerror(errno));
    std::vector<int> now = cpus_in_effect();
    if (now != cpus) throw Prevented("not_allowed", "bound to CPUs " + cpu_list(cpus) + " but the kernel gives " + cpu_list(now));
    return now;
}

void unbind_thread() {
    // The kernel takes what is allowed; where it refuses, the old binding stays.
    hwloc_set_cpubind(this_machine(), hwloc_topology_get_complete_cpuset(this_machine()), HWLOC_CPUBIND_THREAD);
}

std::vector<int> intersection(const std::vector<int>& a, const std::vector<int>& b) {
    std::vector<int> both;
    std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
    return both;
}

}  // namespace nearfar
