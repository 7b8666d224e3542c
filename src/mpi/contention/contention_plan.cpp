#include "mpi/contention/contention_plan.h"

#include <algorithm>
#include <map>
#include <stdexcept>

#include "core/error.h"
#include "core/options.h"
#include "node/cpus.h"

namespace nearfar {
namespace {

constexpr int most_numa_nodes = 1023;

std::string many(std::size_t count, const std::string& what) {
    return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

void require_even_sizes(const std::vector<HostRanks>& hosts) {
    for (const HostRanks& host : hosts)
        if (host.ranks.size() != hosts[0].ranks.size())
            throw WrongUse(host.name + " has " + many(host.ranks.size(), "rank") + " and " + hosts[0].name + " " +
                           std::to_string(hosts[0].ranks.size()) + ": every host needs as many");
    if (hosts.size() > 1 && hosts.size() % 2 == 1)
        throw WrongUse(many(hosts.size(), "host") + ": pairs of hosts are needed, or one host");
}

// A rank's side in the host's own numbers: `pair` and `partner` count from 0 on each (between hosts: on the other one).
std::optional<CommunicatorSide> side_of(int me, int ranks, int movers, Layout layout, bool within) {
    if (layout == Layout::apart) {
        if (me < movers) return {};
        const int member = me - movers;
        if (!within) return CommunicatorSide{0, member, me, true};
        return CommunicatorSide{0, member / 2, movers + (member ^ 1), member % 2 == 0};
    }
    if (!within) return CommunicatorSide{0, me, me, true};
    const int half = ranks / 2;
    return me < half ? CommunicatorSide{0, me, me + half, true} : CommunicatorSide{0, me - half, me - half, false};
}

void require_ranks(int ranks, int movers, Layout layout, bool within) {
    const std::string mpi_ranks = many(static_cast<std::size_t>(std::max(0, ranks - movers)), "rank");
    if (layout == Layout::apart) {
        if (ranks - movers < (within ? 2 : 1))
            throw WrongUse(ranks == 1 ? "one rank has nobody to talk to: start at least two (mpirun -n 2)"
                                      : many(static_cast<std::size_t>(ranks), "rank") + " on a host, of which " +
                                            std::to_string(movers) + " move data, leave " + mpi_ranks +
                                            " for MPI: start at least " + std::to_string(movers + (within ? 2 : 1)) + " on each");
        if (within && (ranks - movers) % 2 == 1)
            throw WrongUse(mpi_ranks + " for MPI cannot be paired: start one more or one less");
        return;
    }
    const int wanted = within ? 2 * movers : movers;
    if (ranks != wanted)
        throw WrongUse("--layout together and split have " + std::string(within ? "two ranks" : "one rank") +
                       " for each of the " + std::to_string(movers) + " that move data: start " + std::to_string(wanted) +
                       " on each host, not " + std::to_string(ranks));
}

// The cores of a node, of which each next thread has the one that fewest have; not `shared`: nobody else has.
class Cores {
public:
    Cores(const Node& node, bool shared, std::size_t wanted = 0) : node_(node), shared_(shared), wanted_(wanted) {}

    // A core of a NUMA node, another one than `other`. Throws Prevented where it has none at all that may be used.
    int on(int numa_node, std::optional<int> other = {}) {
        const std::string name = numa_node_name(numa_node);
        std::vector<int> cores = of(numa_node);
        if (cores.empty()) throw Prevented("not_allowed", name + " has no core that this process may use");
        if (other) cores.erase(std::remove(cores.begin(), cores.end(), *other), cores.end());
        if (cores.empty())
            throw Prevented("not_allowed", name + " has one core that this process may use, and each rank of a pair has its own");
        return least_used(cores, name + " has " + many(cores.size(), "core"));
    }

    // A core of a NUMA node, or where it has none left of any other.
    int near(int numa_node) {
        const auto is_free = [this](int core) { return uses_[core] == 0; };
        const std::vector<int> own = of(numa_node);
        if (std::any_of(own.begin(), own.end(), is_free)) return least_used(own, "");
        return least_used(node_.one_cpu_a_core, "this process may use " + many(node_.one_cpu_a_core.size(), "core"));
    }

private:
    const Node& node_;
    bool shared_;
    std::size_t wanted_;
    std::map<int, int> uses_;

    std::vector<int> of(int numa_node) const {
        const NumaNode* numa = node_.numa_node(numa_node);
        return numa == nullptr ? std::vector<int>{} : intersection(numa->cpus, node_.one_cpu_a_core);
    }

    int least_used(const std::vector<int>& cores, const std::string& have) {
        const int core = *std::min_element(cores.begin(), cores.end(), [this](int a, int b) { return uses_[a] < uses_[b]; });
        if (uses_[core]++ > 0 && !shared_)
            throw WrongUse(many(wanted_, "thread") + " on " + node_.hostname + " want a core each, and " + have +
                           ": start fewer ranks, use --tasks, or say --oversubscribe (the figures then say little)");
        return core;
    }
};

void require_cores_on(const Node& node, int index) {
    const auto has_cores = [](const NumaNode& numa) { return !numa.is_gpu_memory && !numa.cpus.empty(); };
    const NumaNode* const numa = node.numa_node(index);
    if (numa != nullptr && has_cores(*numa)) return;
    std::string known;
    for (const NumaNode& each : node.numa_nodes)
        if (has_cores(each)) known += (known.empty() ? "" : ", ") + std::to_string(each.index);
    throw WrongUse("--between: " + node.hostname + " has no cores on NUMA node " + std::to_string(index) +
                   "; it has some on: " + known);
}

std::string text_of(const NumaPair& pair) { return "n" + std::to_string(pair.first) + "-n" + std::to_string(pair.second); }

int home_of(const Node& node, const ContentionAsk& ask, int mover) {
    const Cell cell = mover_cell(node, ask, mover);
    return cell.flows[0].numa_node();
}

// The NUMA node of a host's `on_host`th pair.
int mpi_node(const Node& node, const ContentionAsk& ask, Layout layout, int movers, int on_host, std::optional<int> nic_node) {
    if (movers == 0) return node.usable_memory().empty() ? 0 : node.usable_memory().front();
    const int home = home_of(node, ask, on_host % movers);
    if (layout != Layout::split) return home;
    if (nic_node) return *nic_node;
    const NumaNode* const near = node.numa_node(home);
    for (const NumaNode& other : node.numa_nodes)
        if (!other.is_gpu_memory && !other.cpus.empty() && near->package != other.package) return other.index;
    throw Prevented("unsupported", "no NIC with a known NUMA node and one package: the threads have nowhere to be split to");
}

}  // namespace

std::vector<RankRole> roles_of(const std::vector<HostRanks>& hosts, Layout layout, int movers) {
    require_even_sizes(hosts);
    const bool within = hosts.size() == 1;
    const int ranks = static_cast<int>(hosts[0].ranks.size());
    require_ranks(ranks, movers, layout, within);
    const int pairs = layout == Layout::apart ? (ranks - movers) / (within ? 2 : 1) : movers;
    std::vector<RankRole> roles;
    for (std::size_t host = 0; host < hosts.size(); ++host) {
        for (int me = 0; me < ranks; ++me) {
            RankRole role;
            role.rank = hosts[host].ranks[static_cast<std::size_t>(me)];
            role.host = host;
            if (me < movers) role.mover = me;
            role.communicator = side_of(me, ranks, movers, layout, within);
            if (CommunicatorSide* const side = role.communicator ? &*role.communicator : nullptr) {
                side->pair = static_cast<int>(host / 2) * pairs + side->on_host;
                side->partner = hosts[within ? host : host ^ 1].ranks[static_cast<std::size_t>(side->partner)];
                side->initiates = within ? side->initiates : host % 2 == 0;
            }
            roles.push_back(role);
        }
    }
    std::sort(roles.begin(), roles.end(), [](const RankRole& a, const RankRole& b) { return a.rank < b.rank; });
    return roles;
}

std::vector<Arrangement> arrangements_of(const std::vector<RankRole>& roles, const std::vector<Layout>& layouts, int movers) {
    int pairs = 0;
    for (const RankRole& role : roles)
        if (role.communicator) pairs = std::max(pairs, role.communicator->on_host + 1);
    if (movers == 0) return {{"mpi_only", Layout::apart, 0, pairs}};
    std::vector<Arrangement> found;
    if (layouts.front() == Layout::apart) {
        if (pairs >= movers) found.push_back({"per_task", Layout::apart, movers, movers});
        if (pairs != movers) found.push_back({pairs > movers ? "all_cores" : "pairs", Layout::apart, movers, pairs});
        return found;
    }
    for (int count = 1; count <= movers; ++count)
        for (const Layout layout : layouts)
            found.push_back({layout == Layout::together ? "together" : "split", layout, count, count});
    return found;
}

int usual_movers(const Node& node, With with) {
    if (with == With::nothing) return 0;
    const std::size_t count = with == With::gpu ? node.gpus.size() : node.usable_memory().size();
    if (count == 0)
        throw Prevented("missing_library", with == With::gpu
                                               ? "this node has no NVIDIA GPU on its PCI bus: say --mpi-only or --with stream"
                                               : "no NUMA node has memory that this process may use");
    return static_cast<int>(count);
}

Cell mover_cell(const Node& node, const ContentionAsk& ask, int mover) {
    const std::vector<int> memory = node.usable_memory();
    if (memory.empty()) throw Prevented("no_memory", "no NUMA node has memory that this process may use");
    if (ask.with == With::stream) {
        const int numa = memory[static_cast<std::size_t>(mover) % memory.size()];
        Flow flow{{Place::cores, numa}, {Place::numa_memory, numa}, {}};
        flow.kernel = Kernel::copy;
        return {{flow}};
    }
    if (static_cast<std::size_t>(mover) >= node.gpus.size())
        throw WrongUse("g" + std::to_string(mover) + ": this machine has " + many(node.gpus.size(), "GPU"));
    // Where the system does not say which node is the GPU's, the first stands in; the document shows which.
    const int numa = node.gpus[static_cast<std::size_t>(mover)].numa_node.value_or(memory.front());
    const Endpoint host{Place::numa_memory, numa};
    const Endpoint gpu{Place::gpu_memory, mover};
    Cell cell;
    if (ask.to_gpu) cell.flows.push_back({host, gpu, {}});
    if (ask.to_host) cell.flows.push_back({gpu, host, {}});
    return cell;
}

std::vector<RankCpus> place_threads(const Node& node, const std::vector<RankRole>& roles, const ContentionAsk& ask, Layout layout,
                                    std::optional<int> nic_node) {
    std::size_t wanted = 0;
    int movers = 0;
    for (const RankRole& role : roles) {
        wanted += role.communicator ? 1 : 0;
        if (!role.mover) continue;
        ++movers;
        wanted += mover_cell(node, ask, *role.mover).flows.size();
    }
    Cores cores(node, ask.oversubscribe, wanted);
    std::vector<RankCpus> placed(roles.size());
    // The movers first: they have to be near their memory, MPI may be elsewhere.
    for (std::size_t i = 0; i < roles.size(); ++i) {
        if (!roles[i].mover) continue;
        const Cell cell = mover_cell(node, ask, *roles[i].mover);
        for (const Flow& flow : cell.flows) placed[i].moving.push_back({cores.on(flow.numa_node())});
    }
    for (std::size_t i = 0; i < roles.size(); ++i) {
        if (!roles[i].communicator) continue;
        const int numa = mpi_node(node, ask, layout, movers, roles[i].communicator->on_host, nic_node);
        placed[i].mpi = {layout == Layout::apart ? cores.near(numa) : cores.on(numa)};
    }
    return placed;
}

std::vector<NumaPair> parse_numa_pairs(const std::string& list) {
    std::vector<NumaPair> pairs;
    for (const std::string& text : list_value("--between", list)) {
        const std::size_t dash = text.find('-');
        if (dash == std::string::npos)
            throw WrongUse("--between '" + text + "': expected the NUMA nodes of two ranks, such as 0-1");
        const NumaPair pair{whole_value("--between", text.substr(0, dash), 0, most_numa_nodes),
                            whole_value("--between", text.substr(dash + 1), 0, most_numa_nodes)};
        for (const NumaPair& other : pairs)
            if (std::minmax(pair.first, pair.second) == std::minmax(other.first, other.second))
                throw WrongUse("--between '" + list + "': " + text_of(pair) + " is named twice");
        pairs.push_back(pair);
    }
    return pairs;
}

std::vector<int> cpus_of_pairs(const Node& node, const std::vector<NumaPair>& pairs) {
    Cores cores(node, true);
    std::vector<int> cpus;
    for (const NumaPair& pair : pairs) {
        for (const int numa_node : {pair.first, pair.second}) require_cores_on(node, numa_node);
        cpus.push_back(cores.on(pair.first));
        cpus.push_back(cores.on(pair.second, cpus.back()));
    }
    return cpus;
}

void bind_before_mpi(const std::vector<NumaPair>& pairs, int rank) {
    if (static_cast<std::size_t>(rank) >= 2 * pairs.size()) return;
    try {
        unbind_thread();
        bind_thread({cpus_of_pairs(read_node(), pairs)[static_cast<std::size_t>(rank)]});
    } catch (const std::runtime_error&) {
        return;
    }
}

std::vector<Arrangement> arrangements_of_pairs(const std::vector<HostRanks>& hosts, const std::vector<NumaPair>& pairs) {
    if (hosts.size() > 1) throw WrongUse("--between measures within one host, and these ranks are on several: leave it out");
    const std::size_t ranks = hosts[0].ranks.size();
    const std::size_t wanted = 2 * pairs.size();
    if (ranks == 1)
        throw WrongUse("one rank has nobody to talk to: start " + std::to_string(wanted) + ", two for each pair of --between");
    if (ranks != wanted)
        throw WrongUse("--between has " + std::to_string(pairs.size()) + (pairs.size() == 1 ? " pair" : " pairs") +
                       " of two ranks each: start " + std::to_string(wanted) + " ranks, not " + std::to_string(ranks));
    std::vector<Arrangement> found;
    for (const NumaPair& pair : pairs) found.push_back({text_of(pair), Layout::apart, 0, 1, static_cast<int>(found.size())});
    return found;
}

}  // namespace nearfar
