// What a rank tells of itself in a contention run: bindings and places in effect.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "mpi/contention/contention_plan.h"

namespace nearfar {

struct RankTold {
    std::map<Layout, std::string> mpi_cpus;      // none: no communicator
    std::vector<std::string> flow_cpus;          // of its mover
    std::vector<std::vector<int>> memory_nodes;  // of each of its mover's flows
    std::vector<std::size_t> chunks;
    std::map<Layout, std::vector<int>> mpi_memory;  // of its messages; none where the kernel does not say
};

template <typename Visit>
void each_field(RankTold& told, Visit& visit) {
    visit(told.mpi_cpus);
    visit(told.flow_cpus);
    visit(told.memory_nodes);
    visit(told.chunks);
    visit(told.mpi_memory);
}

}  // namespace nearfar
