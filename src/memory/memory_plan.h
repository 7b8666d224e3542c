// Whether host memory that is wanted can be had, asked before any of it is touched: a strict binding to a full NUMA node, or a
// control group's limit, ends the process by the kernel's hand and not in an error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace nearfar {

enum class HostPages {
    ordinary,  // anonymous pages, transparent huge ones where the system gives them
    huge       // reserved huge pages of 2 MiB (hugetlbfs), never anything else
};

constexpr std::size_t huge_page = std::size_t{2} << 20;

// What a limit of the process's control groups still leaves; `file` holds the limit.
struct GroupLimit {
    std::string file;
    std::uint64_t limit = 0;  // bytes
    std::uint64_t left = 0;   // bytes; file caches count as free, because the kernel drops them first
};

// Those of the process's own group and of the groups above it, versions 1 and 2. `root` stands before every path that is read.
std::vector<GroupLimit> group_limits(HostPages pages, const std::string& root = "");

// What is wanted, summed: for each NUMA node, and in all.
class MemoryPlan {
public:
    // `root` stands before every path that is read.
    explicit MemoryPlan(std::string root = "");
    // Plans `bytes` on a NUMA node. Throws Prevented (no_memory; unsupported where the kernel has no such huge pages) where they do
    // not fit beside what is planned already, and leaves them out. What is planned is not to be allocated before all is.
    void add(int numa_node, std::size_t bytes, HostPages pages);

private:
    struct Kind {
        std::vector<GroupLimit> limits;
        std::map<int, std::uint64_t> on_node;
        std::uint64_t in_all = 0;
    };
    std::string root_;
    std::map<HostPages, Kind> kinds_;

    void require_node(int numa_node, std::uint64_t bytes, HostPages pages) const;
};

}  // namespace nearfar
