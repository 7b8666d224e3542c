// Pairs of ranks on one host, each rank on a core of the NUMA node that it is asked for.
#pragma once

#include <string>
#include <vector>

#include "mpi/contention/contention_plan.h"
#include "node/node.h"

namespace nearfar {

// "0-0,0-1" as given; throws WrongUse.
std::vector<NumaPair> parse_numa_pairs(const std::string& list);

// The CPU of each rank, pair after pair. Both ranks of a pair have a core of their own; pairs share cores where there are too few,
// since one alone takes part at a time. Throws WrongUse for a NUMA node that is not there, and Prevented for one without cores enough.
std::vector<int> cpus_of_pairs(const Node& node, const std::vector<NumaPair>& pairs);

// Binds the calling thread to its rank's core before MPI starts, so that what MPI allocates lies beside it. Does nothing where the rank
// has no place: the run itself says why.
void bind_before_mpi(const std::vector<NumaPair>& pairs, int rank);

// What is measured, in order: each pair alone. Throws WrongUse where there are not two ranks for each pair, or several hosts.
std::vector<Arrangement> arrangements_of_pairs(const std::vector<HostRanks>& hosts, const std::vector<NumaPair>& pairs);

}  // namespace nearfar
