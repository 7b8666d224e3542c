// What programs that start one rank a GPU ask of all ranks before they measure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cell/results.h"
#include "mpi/mpi_world.h"
#include "node/node.h"
#include "node/rank_binding.h"

namespace nearfar {

// Who is where, for the document: this rank's GPU and the NUMA node where it hangs go in. Sets in `home` the latter, how many ranks of
// this host have their GPU there, and this one's position among them. Collective.
MpiFacts gather_facts(const MpiWorld& world, const std::optional<int>& gpu, const std::optional<int>& numa_node, RankHome& home);

int ranks_on(const MpiWorld& world, const std::string& host);

// Throws WrongUse for more ranks on this host than cores that they may use; `anyway`: what to say to measure all the same, empty: nothing.
void require_cores(const MpiWorld& world, const Node& node, const std::string& anyway);

// Throws WrongUse where two ranks of a host name the same device. `identities`: of each rank, its first field; empty: it has none.
void require_own_devices(const std::vector<Message>& identities, const MpiWorld& world);

}  // namespace nearfar
