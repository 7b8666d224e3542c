// Who does what on which CPU when MPI and other traffic share a node: ranks, communicators, movers, cores. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cell/cell.h"
#include "node/node.h"

namespace nearfar {

enum class Layout {
    apart,     // movers and communicators are ranks of their own
    together,  // a rank's MPI thread and its mover share the GPU's NUMA node
    split      // the MPI thread is on the NIC's NUMA node, or where no NIC is known on another package
};

enum class With { nothing, gpu, stream };  // what moves beside MPI

// The NUMA nodes of the two ranks of a pair.
struct NumaPair {
    int first;
    int second;
};

struct ContentionAsk {
    std::vector<Layout> layouts{Layout::apart};  // several: apart is not among them
    With with = With::gpu;
    int tasks = 0;       // movers on each host; 0: as many as GPUs (or, with streams, as NUMA nodes with memory)
    bool to_gpu = true;  // which directions a GPU's mover has
    bool to_host = true;
    bool oversubscribe = false;
    std::string nic;                // the NIC that split moves to; empty: the only ones there are
    std::vector<NumaPair> between;  // pairs alone, two ranks for each of these; empty: where place_threads has them
};

// The ranks of one host, ascending.
struct HostRanks {
    std::string name;
    std::vector<int> ranks;
};

// One side of a communicator of two ranks.
struct CommunicatorSide {
    int pair;     // its number in the run
    int on_host;  // its number among the host's (between hosts: the two hosts') pairs
    int partner;  // rank
    bool initiates;
};

struct RankRole {
    int rank = 0;
    std::size_t host = 0;
    std::optional<CommunicatorSide> communicator;
    std::optional<int> mover;  // its number on the host
};

// So many of each host's movers and pairs take part; the others sleep.
struct Arrangement {
    std::string word;  // "per_task", "all_cores", "pairs", "together", "split", "mpi_only"; between NUMA nodes "n0-n1"
    Layout layout;
    int movers;
    int pairs;
    int first_pair = 0;

    bool has_pair(int on_host) const { return on_host >= first_pair && on_host < first_pair + pairs; }
};

// The roles of all ranks. `movers` on each host. Pairs are within a host, or between two hosts where there are several. Throws
// WrongUse where the ranks do not suit: one alone, an odd number, hosts of different sizes.
std::vector<RankRole> roles_of(const std::vector<HostRanks>& hosts, Layout layout, int movers);

// What is measured, in order.
std::vector<Arrangement> arrangements_of(const std::vector<RankRole>& roles, const std::vector<Layout>& layouts, int movers);

// How many movers a host has where nobody says; throws Prevented where there is nothing to move between.
int usual_movers(const Node& node, With with);

// The flows of a host's mover; GPU i, or the NUMA node with memory that has its turn.
Cell mover_cell(const Node& node, const ContentionAsk& ask, int mover);

// The CPUs of one rank: each thread's own.
struct RankCpus {
    std::vector<int> mpi;                  // empty: no communicator
    std::vector<std::vector<int>> moving;  // of each flow of its mover
};

// Cores for the threads of one host's ranks in a layout, in the order of `roles`; movers have the same in every layout. Every thread has a core of its own, unless
// `oversubscribe`. `nic_node`: the NUMA node that split moves to. Throws WrongUse where the cores do not suffice and Prevented where
// a wished NUMA node has none that may be used, or there is nothing to split.
std::vector<RankCpus> place_threads(const Node& node, const std::vector<RankRole>& roles, const ContentionAsk& ask, Layout layout,
                                    std::optional<int> nic_node);

// Pairs of ranks on one host, each rank on a core of the NUMA node that it is asked for.

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
