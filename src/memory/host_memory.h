// Host memory on one NUMA node: bound, touched, and proven to lie there page by page.
#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "memory/memory_plan.h"
#include "node/node.h"

namespace nearfar {

class HostBuffer {
public:
    // Allocates `bytes` (rounded up to whole huge pages) on a NUMA node, fills them with pattern(seed, …) from threads of that
    // node's CPUs or the nearest that are allowed, and verifies where the pages are. Throws Prevented (no_memory, not_allowed) or
    // Failure (placement).
    HostBuffer(const Node& node, int numa_node, std::size_t bytes, HostPages pages, std::uint64_t seed);
    ~HostBuffer();
    HostBuffer(const HostBuffer&) = delete;
    HostBuffer& operator=(const HostBuffer&) = delete;

    void* data() const { return data_; }
    std::size_t bytes() const { return bytes_; }
    // Looks again where the pages are: registering them for a GPU may move them. Throws Failure (placement).
    void require_placement();
    // Where the pages are, in effect.
    const std::vector<int>& memory_nodes() const { return memory_nodes_; }

private:
    void* data_ = nullptr;
    std::size_t bytes_ = 0;
    int numa_node_ = 0;
    std::vector<int> memory_nodes_;
};

// `bytes` in whole huge pages, as a buffer takes them.
constexpr std::size_t whole_huge_pages(std::size_t bytes) { return (bytes + huge_page - 1) / huge_page * huge_page; }

// Pages of a touched range on each NUMA node, asked for one by one; -1: not in memory. Throws Prevented where the kernel does not say.
std::map<int, std::size_t> pages_by_node(const void* data, std::size_t bytes);

}  // namespace nearfar
