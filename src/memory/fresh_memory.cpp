#include "memory/fresh_memory.h"

#include <sys/mman.h>

#include <cstring>
#include <string>

#include "core/error.h"
#include "memory/host_memory.h"

namespace nearfar {

FreshMemory::FreshMemory(std::size_t bytes) : bytes_(bytes), data_(nullptr) {
    void* const pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) throw Prevented("no_memory", "the system gives no " + std::to_string(bytes) + " bytes of memory");
    data_ = static_cast<char*>(pages);
    std::memset(data_, 1, bytes);
}

FreshMemory::~FreshMemory() { munmap(data_, bytes_); }

std::vector<int> FreshMemory::memory_nodes() const {
    std::vector<int> found;
    try {
        for (const auto& [node, pages] : pages_by_node(data_, bytes_))
            if (node >= 0) found.push_back(node);  // else the kernel has just taken the page away, to move or to watch it
    } catch (const Prevented&) {
        return {};
    }
    return found;
}

}  // namespace nearfar
