// Which ranks of a contention run are on which host.
#pragma once

#include <vector>

#include "mpi/contention/contention_plan.h"
#include "mpi/mpi_world.h"

namespace nearfar {

// In the order of the hosts' first ranks.
std::vector<HostRanks> hosts_of(const std::vector<RankPlace>& places);

// Throws WrongUse where the launcher bound the ranks: it then left each of them other CPUs than its neighbour's.
void require_unbound(const std::vector<RankPlace>& places, const RankPlace& mine);

}  // namespace nearfar
