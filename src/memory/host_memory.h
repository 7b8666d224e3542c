// Host memory on one NUMA node: bound, touched, and proven to lie there page by page.
#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "node/node.h"

namespace nearfar {

enum class HostPages {
    ordinary,  // anonymous pages, transparent huge ones where the system gives them
    huge       // reserved huge pages (hugetlbfs), never anything else
};

class HostBuffer {
public:
    // Allocates `bytes` (rounded up to whole huge pages) on a NUMA node, fills them with pattern(seed, …) from threads of that
    // node's CPUs and verifies where the pages are. Throws Prevented (no_memory, not_allowed) or Failure (placement).
    HostBuffer(const Node& node, int numa_node, std::size_t bytes, HostPages pages, std::uint64_t seed);
    ~HostBuffer();
    HostBuffer(const HostBuffer&) = delete;
    HostBuffer& operator=(const HostBuffer&) = delete;

    void* data() const { return data_; }
    std::size_t bytes() const { return bytes_; }
    std::uint64_t seed() const { return seed_; }
    // Where the pages are, in effect.
    const std::vector<int>& memory_nodes() const { return memory_nodes_; }

private:
    void* data_ = nullptr;
    std::size_t bytes_ = 0;
    std::uint64_t seed_ = 0;
    std::vector<int> memory_nodes_;
};

// Pages of a touched range on each NUMA node. Throws Prevented where the kernel does not say.
std::map<int, std::size_t> pages_by_node(const void* data, std::size_t bytes);

}  // namespace nearfar
