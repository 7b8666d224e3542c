#include "node/cpus.h"

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <memory>

#include "core/error.h"

namespace nearfar {
namespace {

constexpr int most_cpus = 8192;

struct CpuSet {
    cpu_set_t* set = CPU_ALLOC(most_cpus);
    std::size_t size = CPU_ALLOC_SIZE(most_cpus);
    CpuSet() { CPU_ZERO_S(size, set); }
    ~CpuSet() { CPU_FREE(set); }
    CpuSet(const CpuSet&) = delete;
    CpuSet& operator=(const CpuSet&) = delete;
};

}  // namespace

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
    const CpuSet set;
    std::vector<int> cpus;
    if (sched_getaffinity(0, set.size, set.set) != 0) return cpus;
    for (int cpu = 0; cpu < most_cpus; ++cpu)
        if (CPU_ISSET_S(static_cast<unsigned>(cpu), set.size, set.set)) cpus.push_back(cpu);
    return cpus;
}

std::vector<int> bind_thread(const std::vector<int>& cpus) {
    const CpuSet set;
    for (const int cpu : cpus) CPU_SET_S(static_cast<unsigned>(cpu), set.size, set.set);
    if (sched_setaffinity(0, set.size, set.set) != 0)
        throw Prevented("not_allowed", "binding to CPUs " + cpu_list(cpus) + " was refused: " + std::strerror(errno));
    std::vector<int> now = cpus_in_effect();
    if (now != cpus) throw Prevented("not_allowed", "bound to CPUs " + cpu_list(cpus) + " but the kernel gives " + cpu_list(now));
    return now;
}

void unbind_thread() {
    const CpuSet set;
    for (int cpu = 0; cpu < most_cpus; ++cpu) CPU_SET_S(static_cast<unsigned>(cpu), set.size, set.set);
    sched_setaffinity(0, set.size, set.set);  // the kernel takes what is allowed; where it refuses, the old binding stays
}

std::vector<int> intersection(const std::vector<int>& a, const std::vector<int>& b) {
    std::vector<int> both;
    std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
    return both;
}

}  // namespace nearfar
