// The operands and results of kernels in the memory of a NUMA node, which all kernels that use the node share one after the other.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kernels/level_one/subject.h"
#include "kernels/problems/problem.h"
#include "memory/host_memory.h"
#include "node/node.h"

namespace nearfar {

class HostOperands {
public:
    // For the largest of these problems that fits there; throws where none does. `locked`: called once with the memory.
    HostOperands(const Node& node, const Subject& subject, const std::vector<ProblemShape>& shapes,
                 const std::function<void(HostBuffer&)>& locked);

    // Throws Prevented (no_memory) where the problem does not fit.
    void require(const ProblemShape& shape) const;
    // Fills the operands, if they are not there already, and poisons the results.
    void prepare(const Problem& problem);
    void* in() const { return memory_->data(); }
    void* out(const ProblemShape& shape, int which) const;
    const Team& team() const { return team_; }
    const std::vector<int>& cpus() const { return cpus_; }  // that drive this memory
    const std::vector<int>& memory_nodes() const { return memory_->memory_nodes(); }

private:
    std::vector<int> cpus_;
    Team team_;
    std::unique_ptr<HostBuffer> memory_;
    std::string filled_;  // of which problem the operands are
    std::string numa_node_;
};

}  // namespace nearfar
