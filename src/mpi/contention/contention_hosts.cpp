#include "mpi/contention/contention_hosts.h"

#include <algorithm>

#include "core/error.h"

namespace nearfar {

std::vector<HostRanks> hosts_of(const std::vector<RankPlace>& places) {
    std::vector<HostRanks> hosts;
    for (const RankPlace& place : places) {
        const auto known =
            std::find_if(hosts.begin(), hosts.end(), [&](const HostRanks& host) { return host.name == place.host; });
        if (known == hosts.end())
            hosts.push_back({place.host, {place.rank}});
        else
            known->ranks.push_back(place.rank);
    }
    return hosts;
}

void require_unbound(const std::vector<RankPlace>& places, const RankPlace& mine) {
    for (const RankPlace& place : places)
        if (place.host == mine.host && place.cpus != mine.cpus)
            throw WrongUse("the launcher bound the ranks (CPUs " + mine.cpus + " here, " + place.cpus + " for rank " +
                           std::to_string(place.rank) +
                           "), and this program binds them itself: mpirun --bind-to none (Open MPI), -bind-to none (MPICH), "
                           "srun --cpu-bind=none");
}

}  // namespace nearfar
