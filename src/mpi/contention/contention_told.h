// What ranks tell each other of a contention run, as messages. Pure.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "core/message.h"
#include "mpi/contention/contention_plan.h"
#include "mpi/contention/contention_results.h"

namespace nearfar {

// What is told of one rank: bindings and places in effect.
struct RankTold {
    std::map<Layout, std::string> mpi_cpus;      // none: no communicator
    std::vector<std::string> flow_cpus;          // of its mover
    std::vector<std::vector<int>> memory_nodes;  // of each of its mover's flows
    std::vector<std::size_t> chunks;
    std::map<Layout, std::vector<int>> mpi_memory;  // of its messages; none where the kernel does not say
};

// Read back, each is the same. What is no such message throws std::invalid_argument.
Message message_of(const RankSeen& seen);
RankSeen seen_in(const Message& message);
Message message_of(const RankTold& told);
RankTold told_in(const Message& message);

}  // namespace nearfar
