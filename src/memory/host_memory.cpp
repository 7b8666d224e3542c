#include "memory/host_memory.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <exception>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

#include "core/error.h"
#include "memory/pattern.h"
#include "node/cpus.h"

namespace nearfar {
namespace {

constexpr std::size_t huge_page = std::size_t{2} << 20;
constexpr int mpol_bind = 2;  // <numaif.h>, which comes with libnuma; the call itself is the kernel's
constexpr std::size_t most_filling_threads = 16;

std::string name_of(int numa_node) { return "NUMA node " + std::to_string(numa_node); }

std::uint64_t meminfo_kib(int numa_node, const std::string& wanted) {
    std::ifstream file("/sys/devices/system/node/node" + std::to_string(numa_node) + "/meminfo");
    std::string line;
    while (std::getline(file, line)) {
        std::istringstream words(line);  // "Node 0 MemFree:  12345 kB"
        std::string node;
        std::string number;
        std::string key;
        std::uint64_t kib = 0;
        if (words >> node >> number >> key >> kib && key == wanted + ":") return kib;
    }
    return 0;
}

std::uint64_t free_huge_pages(int numa_node) {
    std::ifstream file("/sys/devices/system/node/node" + std::to_string(numa_node) +
                       "/hugepages/hugepages-2048kB/free_hugepages");
    std::uint64_t pages = 0;
    file >> pages;
    return pages;
}

// KiB that the machine can give, where its one node is all the memory there is; 0 elsewhere. The memory of some virtual machines
// grows as it is used, and the node's own figures do not show what is still to come.
std::uint64_t whole_machine_kib() {
    std::ifstream nodes("/sys/devices/system/node/has_memory"), file("/proc/meminfo");
    std::string listed, line, key;
    std::uint64_t kib = 0;
    if (!(nodes >> listed) || listed.find_first_of(",-") != std::string::npos) return 0;
    while (std::getline(file, line)) {
        std::istringstream words(line);  // "MemAvailable:  12345 kB"
        if (words >> key >> kib && key == "MemAvailable:") return kib;
    }
    return 0;
}

// A strict binding ends in the kernel killing the process, not in an error, where the node has too little: so ask first.
void require_memory(int numa_node, std::size_t bytes, HostPages pages) {
    if (pages == HostPages::huge) {
        const std::uint64_t have = free_huge_pages(numa_node);
        if (have * huge_page < bytes)
            throw Prevented("no_memory", name_of(numa_node) + " has " + std::to_string(have) + " free huge pages of 2 MiB, " +
                                             std::to_string(bytes / huge_page) +
                                             " are needed; reserve them in /sys/devices/system/node/node" +
                                             std::to_string(numa_node) + "/hugepages/hugepages-2048kB/nr_hugepages");
        return;
    }
    const std::uint64_t on_node =
        meminfo_kib(numa_node, "MemFree") + meminfo_kib(numa_node, "Inactive(file)") + meminfo_kib(numa_node, "SReclaimable");
    const std::uint64_t kib = std::max(on_node, whole_machine_kib());
    if (kib > 0 && kib * 1024 < bytes)
        throw Prevented("no_memory", name_of(numa_node) + " has " + std::to_string(kib >> 10) + " MiB free, " +
                                         std::to_string(bytes >> 20) + " MiB are needed");
}

void bind_pages(void* data, std::size_t bytes, int numa_node, bool only_node) {
    std::vector<unsigned long> mask(static_cast<std::size_t>(numa_node) / 64 + 1, 0);
    mask[static_cast<std::size_t>(numa_node) / 64] = 1UL << (static_cast<unsigned>(numa_node) % 64);
    const unsigned long bits = mask.size() * 64 + 1;
    if (syscall(SYS_mbind, data, bytes, mpol_bind, mask.data(), bits, 0) == 0) return;
    // Containers often forbid mbind; with a single node there is nothing to choose, and placement is verified anyway.
    if (only_node && (errno == EPERM || errno == ENOSYS)) return;
    const std::string why = errno == EPERM ? "mbind is forbidden here (containers need CAP_SYS_NICE)" : std::strerror(errno);
    throw Prevented("not_allowed", "memory cannot be bound to " + name_of(numa_node) + ": " + why);
}

void fill(void* data, std::size_t bytes, std::uint64_t seed, const std::vector<int>& cpus) {
    const std::size_t words = bytes / sizeof(std::uint64_t);
    const std::size_t threads = std::clamp<std::size_t>(cpus.size(), 1, most_filling_threads);
    const std::size_t share = (words / threads + 511) / 512 * 512;
    std::vector<std::thread> workers;
    std::vector<std::exception_ptr> errors(threads);
    for (std::size_t i = 0; i < threads; ++i) {
        workers.emplace_back([&, i] {
            try {
                bind_thread(cpus);
                const std::size_t first = std::min(words, i * share);
                const std::size_t count = i + 1 == threads ? words - first : std::min(words - first, share);
                fill_pattern(data, seed, first, count);
            } catch (...) {
                errors[i] = std::current_exception();
            }
        });
    }
    for (std::thread& worker : workers) worker.join();
    for (const std::exception_ptr& error : errors)
        if (error) std::rethrow_exception(error);
}

// Without target nodes, move_pages only says where each page is; a negative place is none. One that the kernel is just moving
// (into a huge page, say) is nowhere for a moment: it is asked for again.
void look_where(const std::vector<void*>& pages, std::vector<int>& places) {
    constexpr int most_looks = 5;
    for (int look = 1;; ++look) {
        if (syscall(SYS_move_pages, 0, pages.size(), pages.data(), nullptr, places.data(), 0) != 0)
            throw Prevented("not_allowed",
                            std::string("the kernel does not say where pages are (move_pages): ") + std::strerror(errno));
        const auto last = places.begin() + static_cast<std::ptrdiff_t>(pages.size());
        if (look == most_looks || std::none_of(places.begin(), last, [](int place) { return place < 0; })) return;
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
}

}  // namespace

std::map<int, std::size_t> pages_by_node(const void* data, std::size_t bytes) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    constexpr std::size_t batch = 4096;
    std::map<int, std::size_t> found;
    std::vector<void*> pages;
    std::vector<int> status(batch);
    const auto start = reinterpret_cast<std::uintptr_t>(data) / page * page;
    const auto end = reinterpret_cast<std::uintptr_t>(data) + bytes;
    for (std::uintptr_t at = start; at < end;) {
        pages.clear();
        for (; at < end && pages.size() < batch; at += page) pages.push_back(reinterpret_cast<void*>(at));
        look_where(pages, status);
        for (std::size_t i = 0; i < pages.size(); ++i) ++found[status[i]];
    }
    return found;
}

HostBuffer::HostBuffer(const Node& node, int numa_node, std::size_t bytes, HostPages pages, std::uint64_t seed)
    : bytes_((bytes + huge_page - 1) / huge_page * huge_page), seed_(seed) {
    const NumaNode* home = node.numa_node(numa_node);
    if (home == nullptr) throw WrongUse("n" + std::to_string(numa_node) + ": this machine has no such NUMA node");
    if (home->is_gpu_memory) throw WrongUse(name_of(numa_node) + " is a GPU's memory, not host memory");
    if (home->memory == 0) throw Prevented("no_memory", name_of(numa_node) + " has no memory");
    if (!home->allowed) throw Prevented("not_allowed", "the cpuset forbids the memory of " + name_of(numa_node));
    require_memory(numa_node, bytes_, pages);
    const std::vector<int> cpus = node.driving_cpus(numa_node);
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | (pages == HostPages::huge ? MAP_HUGETLB : 0);
    // Reserved a little larger, so that the buffer starts on a huge page's boundary.
    void* mapped = mmap(nullptr, bytes_ + (pages == HostPages::huge ? 0 : huge_page), PROT_READ | PROT_WRITE, flags, -1, 0);
    if (mapped == MAP_FAILED)
        throw Prevented("no_memory", std::to_string(bytes_ >> 20) + " MiB cannot be mapped for " + name_of(numa_node) + ": " +
                                         std::strerror(errno));
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
        fill(data_, bytes_, seed, cpus);
        const std::map<int, std::size_t> where = pages_by_node(data_, bytes_);
        for (const auto& [place, count] : where) {
            if (place != numa_node)
                throw Failure("placement", std::to_string(count) + " pages bound to " + name_of(numa_node) + " are " +
                                               (place >= 0 ? "on " + name_of(place) : std::string("not in memory")));
            memory_nodes_.push_back(place);
        }
    } catch (...) {
        munmap(data_, bytes_);
        throw;
    }
}

HostBuffer::~HostBuffer() { munmap(data_, bytes_); }

}  // namespace nearfar
