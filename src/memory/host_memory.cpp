#include "memory/host_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>

#include "core/error.h"
#include "core/trouble.h"
#include "memory/pattern.h"
#include "node/hwloc_machine.h"
#include "node/team.h"

namespace nearfar {
namespace {

constexpr std::size_t fill_grain = 512;  // words, a page
constexpr int two_mib_pages = 21 << 26;  // MAP_HUGE_2MB of <linux/mman.h>: the system's default may be another size

void bind_pages(void* data, std::size_t bytes, int numa_node, bool only_node) {
    if (hwloc_set_area_membind(this_machine(), data, bytes, bitmap_of({numa_node}).get(), HWLOC_MEMBIND_BIND,
                               HWLOC_MEMBIND_STRICT | HWLOC_MEMBIND_BYNODESET) == 0)
        return;
    // Containers often forbid mbind; with a single node there is nothing to choose, and placement is verified anyway.
    if (only_node && (errno == EPERM || errno == ENOSYS)) return;
    const std::string why = errno == EPERM ? "mbind is forbidden here (containers need CAP_SYS_NICE)" : std::strerror(errno);
    throw Prevented("not_allowed", "memory cannot be bound to " + numa_node_name(numa_node) + ": " + why);
}

// The NUMA nodes that pages of a range are on; pages that are in no memory are on none.
std::vector<int> nodes_under(const void* data, std::size_t bytes) {
    constexpr std::size_t step = std::size_t{1} << 30;  // hwloc makes a list of the pages
    const Bitmap nodes = bitmap_of({});
    const Bitmap part = bitmap_of({});
    for (std::size_t at = 0; at < bytes; at += step) {
        if (hwloc_get_area_memlocation(this_machine(), static_cast<const char*>(data) + at, std::min(step, bytes - at),
                                       part.get(), HWLOC_MEMBIND_BYNODESET) != 0)
            throw Prevented("not_allowed",
                            std::string("the kernel does not say where pages are (move_pages): ") + std::strerror(errno));
        hwloc_bitmap_or(nodes.get(), nodes.get(), part.get());
    }
    return indices_of(nodes.get());
}

}  // namespace

std::map<int, std::size_t> pages_by_node(const void* data, std::size_t bytes) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    std::map<int, std::size_t> found;
    for (std::size_t at = 0; at < bytes; at += page) {
        const std::vector<int> node = nodes_under(static_cast<const char*>(data) + at, 1);
        ++found[node.empty() ? -1 : node.front()];
    }
    return found;
}

HostBuffer::HostBuffer(const Node& node, int numa_node, std::size_t bytes, HostPages pages, std::uint64_t seed)
    : bytes_(whole_huge_pages(bytes)), numa_node_(numa_node) {
    const NumaNode* home = node.numa_node(numa_node);
    if (home == nullptr) throw WrongUse("n" + std::to_string(numa_node) + ": this machine has no such NUMA node");
    if (home->is_gpu_memory) throw WrongUse(numa_node_name(numa_node) + " is a GPU's memory, not host memory");
    if (home->memory == 0) throw Prevented("no_memory", numa_node_name(numa_node) + " has no memory");
    if (!home->allowed) throw Prevented("not_allowed", "the cpuset forbids the memory of " + numa_node_name(numa_node));
    MemoryPlan().add(numa_node, bytes_, pages);
    const std::vector<int> cpus = node.nearest_cpus(numa_node);
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | (pages == HostPages::huge ? MAP_HUGETLB | two_mib_pages : 0);
    // Reserved a little larger, so that the buffer starts on a huge page's boundary.
    void* mapped = mmap(nullptr, bytes_ + (pages == HostPages::huge ? 0 : huge_page), PROT_READ | PROT_WRITE, flags, -1, 0);
    if (mapped == MAP_FAILED)
        throw Prevented("no_memory", std::to_string(bytes_ >> 20) + " MiB cannot be mapped for " + numa_node_name(numa_node) +
                                         ": " + std::strerror(errno) + limit_on_addresses());
    auto start = reinterpret_cast<std::uintptr_t>(mapped);
    if (pages != HostPages::huge) {
        const std::uintptr_t aligned = (start + huge_page - 1) / huge_page * huge_page;
        if (aligned > start) munmap(mapped, aligned - start);
        const std::uintptr_t tail = start + huge_page - aligned;
        if (tail > 0) munmap(reinterpret_cast<void*>(aligned + bytes_), tail);
        start = aligned;
    }
    data_ = reinterpret_cast<void*>(start);
    try {
        bind_pages(data_, bytes_, numa_node, node.numa_nodes.size() == 1);
        if (pages == HostPages::ordinary) madvise(data_, bytes_, MADV_HUGEPAGE);
        Team(cpus).each(
            bytes_ / sizeof(std::uint64_t),
            [&](std::size_t begin, std::size_t end) { fill_pattern(data_, seed, begin, end - begin); }, fill_grain);
        require_placement();
    } catch (...) {
        munmap(data_, bytes_);
        throw;
    }
}

void HostBuffer::require_placement() {
    memory_nodes_ = {numa_node_};
    if (nodes_under(data_, bytes_) == memory_nodes_) return;
    for (const auto& [place, count] : pages_by_node(data_, bytes_))
        if (place != numa_node_)
            throw Failure("placement", std::to_string(count) + " pages bound to " + numa_node_name(numa_node_) + " are " +
                                           (place >= 0 ? "on " + numa_node_name(place) : std::string("not in memory")));
}

HostBuffer::~HostBuffer() { munmap(data_, bytes_); }

}  // namespace nearfar
