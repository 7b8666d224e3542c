// Threads that fill operands and look at results, on the CPUs of a NUMA node.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

namespace nearfar {

class Team {
public:
    // One thread a CPU, at most 32. No CPUs: the calling thread alone.
    explicit Team(std::vector<int> cpus);

    // Calls `body` for parts of 0 … count - 1 that are disjoint and cover it, from several threads; each part but the last begins and
    // ends at a multiple of `grain`.
    void each(std::size_t count, const std::function<void(std::size_t begin, std::size_t end)>& body,
              std::size_t grain = 1) const;
    // How many of 0 … count - 1 are so.
    std::size_t count_if(std::size_t count, const std::function<bool(std::size_t)>& is_so) const;

private:
    std::vector<int> cpus_;
};

}  // namespace nearfar
