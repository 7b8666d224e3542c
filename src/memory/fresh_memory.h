// Memory in pages of its own that no thread has touched before: it lies where the thread that constructs it runs.
#pragma once

#include <cstddef>
#include <vector>

namespace nearfar {

class FreshMemory {
public:
    // Every byte is 1. Throws Prevented (no_memory).
    explicit FreshMemory(std::size_t bytes);
    ~FreshMemory();
    FreshMemory(const FreshMemory&) = delete;
    FreshMemory& operator=(const FreshMemory&) = delete;

    char* data() const { return data_; }
    // The NUMA nodes of its pages, in effect; empty where the kernel does not say.
    std::vector<int> memory_nodes() const;

private:
    std::size_t bytes_;
    char* data_;
};

}  // namespace nearfar
