#include "kernels/level_one/host_operands.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "core/error.h"
#include "memory/memory_plan.h"

namespace nearfar {
namespace {

constexpr std::size_t alignment = 4096;
constexpr int poison = 0xff;

std::size_t aligned(std::size_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

std::size_t needed(const ProblemShape& shape) {
    return aligned(shape.in_bytes) + (shape.in_place ? 0 : static_cast<std::size_t>(shape.results()) * aligned(shape.out_bytes));
}

// What the largest problem needs that fits; throws why the smallest does not.
std::size_t fitting(int numa_node, const std::vector<ProblemShape>& shapes) {
    std::set<std::size_t> wanted;
    for (const ProblemShape& shape : shapes) wanted.insert(whole_huge_pages(needed(shape)));
    for (auto bytes = wanted.rbegin(); bytes != wanted.rend(); ++bytes) {
        try {
            MemoryPlan().add(numa_node, *bytes, HostPages::ordinary);
            return *bytes;
        } catch (const Prevented&) {
            if (std::next(bytes) == wanted.rend()) throw;
        }
    }
    return 0;
}

}  // namespace

HostOperands::HostOperands(const Node& node, const Subject& subject, const std::vector<ProblemShape>& shapes,
                           const std::function<void(HostBuffer&)>& locked)
    : cpus_(driving_cpus(node, subject)), team_(cpus_),
      memory_(std::make_unique<HostBuffer>(node, subject.numa_node, fitting(subject.numa_node, shapes), HostPages::ordinary, 1)),
      numa_node_(numa_node_name(subject.numa_node)) {
    locked(*memory_);
}

void HostOperands::require(const ProblemShape& shape) const {
    if (needed(shape) > memory_->bytes())
        throw Prevented("no_memory", shape.text() + " needs " + std::to_string(needed(shape) >> 20) + " MiB of " + numa_node_ +
                                         ": there is less");
}

void HostOperands::prepare(const Problem& problem) {
    const ProblemShape& shape = problem.shape();
    require(shape);
    if (filled_ != shape.text()) problem.fill(in(), team_);
    filled_ = shape.text();
    for (int which = 0; which < shape.results() && !shape.in_place; ++which) {
        auto* const begin = static_cast<char*>(out(shape, which));
        team_.each(shape.out_bytes, [=](std::size_t from, std::size_t to) { std::memset(begin + from, poison, to - from); });
    }
}

void* HostOperands::out(const ProblemShape& shape, int which) const {
    if (shape.in_place) return static_cast<char*>(in()) + shape.in_bytes - shape.out_bytes;
    return static_cast<char*>(in()) + aligned(shape.in_bytes) + static_cast<std::size_t>(which) * aligned(shape.out_bytes);
}

}  // namespace nearfar
