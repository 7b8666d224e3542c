#include "mpi/placed_rank.h"

#include <sched.h>

#include <algorithm>

#include "core/error.h"
#include "core/fields.h"
#include "node/cpus.h"

namespace nearfar {
namespace {

// More ranks on this host than cores that they may use are wrong use.
void require_cores(int ranks, const Node& node, const std::string& anyway) {
    const int cores = static_cast<int>(node.one_cpu_a_core.size());
    if (ranks > cores)
        throw WrongUse(std::to_string(ranks) + " ranks on this host may use " + std::to_string(cores) + " core" +
                       (cores == 1 ? "" : "s") + ": ranks that share a core measure the scheduler" +
                       (anyway.empty() ? "" : "; " + anyway));
}

// So are two ranks of a host that name the same device. `identities`: of each rank, its first field; empty: it has none.
void require_own_devices(const std::vector<Message>& identities, const MpiWorld& world) {
    for (std::size_t a = 0; a < identities.size(); ++a)
        for (std::size_t b = a + 1; b < identities.size(); ++b)
            if (!identities[a].field(0).empty() && identities[a].field(0) == identities[b].field(0) &&
                world.places()[a].host == world.places()[b].host)
                throw WrongUse("ranks " + std::to_string(a) + " and " + std::to_string(b) + " on " + world.places()[a].host +
                               " see the same GPU (" + identities[a].field(0) + ") and no other: start one rank a GPU");
}

}  // namespace

PlacedRank::PlacedRank(MpiWorld& world, const PlacesAsked& asked) {
    home.launcher_cpus = cpus_in_effect();
    home.running_on = sched_getcpu();
    unbind_thread();
    const std::vector<Message> identities = world.all_tell([&]() -> Message {
        const auto is_here = [&](const RankPlace& place) { return place.host == world.own_place().host; };
        const auto here = static_cast<int>(std::count_if(world.places().begin(), world.places().end(), is_here));
        if (asked.one_host && here != world.size())
            throw WrongUse("all ranks have to be on one host: kernels are measured node by node");
        node = read_node(asked.gpus);
        if (!asked.share_cores) require_cores(here, node, asked.anyway);
        places = asked.host_device ? host_places(node) : gpu_places(node, asked.even_if_busy, asked.rate_only);
        device = places->of_rank(world.own_place().on_host, here);
        return {"identity", {device.identity}};
    });
    world.all_do([&] { require_own_devices(identities, world); });
}

void PlacedRank::tell(const MpiWorld& world, ProgramRun& run, const Teller* teller) {
    home.numa_node = device.numa_node;
    home.sharers = 0;
    MpiFacts facts{MpiWorld::library(), {}};
    if (teller != nullptr) gpus_ = places->gpus();
    for (const Message& message : world.gather(message_of("home", std::vector{device.gpu, device.numa_node}))) {
        const RankPlace& place = world.places()[facts.ranks.size()];
        const auto numbers = value_in<std::vector<std::optional<int>>>(message);
        const std::optional<int> gpu = numbers.at(0);
        facts.ranks.push_back({place.rank, place.host, place.pid, place.cpus, gpu, numbers.at(1)});
        if (place.host != world.own_place().host) continue;
        if (teller != nullptr && gpu) gpus_[static_cast<std::size_t>(*gpu)].visible = true;
        if (numbers.at(1) != device.numa_node) continue;
        if (place.rank < world.rank()) ++home.position;
        ++home.sharers;
    }
    if (teller == nullptr) return;
    run.driver = places->driver();
    tell_node(run, teller);
    teller->gpus(node.gpus);
    teller->mpi(facts);
}

void PlacedRank::tell_node(const ProgramRun& run, const Teller* teller) const {
    if (teller != nullptr) teller->node(run, node, gpus_);
}

}  // namespace nearfar
