#include "mpi/rank_facts.h"

#include "core/error.h"
#include "core/fields.h"

namespace nearfar {
MpiFacts gather_facts(const MpiWorld& world, const std::optional<int>& gpu, const std::optional<int>& numa_node, RankHome& home) {
    home.numa_node = numa_node;
    home.sharers = 0;
    MpiFacts facts;
    facts.library = MpiWorld::library();
    for (const Message& told : world.gather(message_of("home", std::vector{gpu, numa_node}))) {
        const RankPlace& place = world.places()[facts.ranks.size()];
        const auto home_of = value_in<std::vector<std::optional<int>>>(told);
        facts.ranks.push_back({place.rank, place.host, place.pid, place.cpus, home_of.at(0), home_of.at(1)});
        if (place.host != world.mine().host || facts.ranks.back().numa_node != numa_node) continue;
        if (place.rank < world.rank()) ++home.position;
        ++home.sharers;
    }
    return facts;
}

int ranks_on(const MpiWorld& world, const std::string& host) {
    int count = 0;
    for (const RankPlace& place : world.places()) count += place.host == host ? 1 : 0;
    return count;
}

void require_cores(const MpiWorld& world, const Node& node, const std::string& anyway) {
    const int ranks = ranks_on(world, world.mine().host);
    const int cores = static_cast<int>(node.one_cpu_a_core.size());
    if (ranks > cores)
        throw WrongUse(std::to_string(ranks) + " ranks on this host may use " + std::to_string(cores) + " core" +
                       (cores == 1 ? "" : "s") + ": ranks that share a core measure the scheduler" +
                       (anyway.empty() ? "" : "; " + anyway));
}

void require_own_devices(const std::vector<Message>& identities, const MpiWorld& world) {
    for (std::size_t a = 0; a < identities.size(); ++a)
        for (std::size_t b = a + 1; b < identities.size(); ++b)
            if (!identities[a].field(0).empty() && identities[a].field(0) == identities[b].field(0) &&
                world.places()[a].host == world.places()[b].host)
                throw WrongUse("ranks " + std::to_string(a) + " and " + std::to_string(b) + " on " + world.places()[a].host +
                               " see the same GPU (" + identities[a].field(0) + ") and no other: start one rank a GPU");
}

}  // namespace nearfar
