// A contention run as rank 0 knows it: who does what, what every rank saw in every round, and from that figures of each task alone and together,
// and what that costs. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "cell/results.h"
#include "mpi/agreed_window.h"
#include "mpi/contention/contention_plan.h"
#include "mpi/contention/data_mover.h"
#include "mpi/contention/message_traffic.h"

namespace nearfar {

// What one rank saw in one window.
struct RankSeen : MessagesSeen {
    bool late = false;               // it heard of the window after its start
    std::vector<MovedFlow> moved{};  // by its mover
};

// What a rank tells of itself: bindings and places in effect.
struct RankTold {
    std::map<Layout, std::string> mpi_cpus;      // none: no communicator
    std::vector<std::string> flow_cpus;          // of its mover
    std::vector<std::vector<int>> memory_nodes;  // of each of its mover's flows
    std::vector<std::size_t> chunks;
    std::map<Layout, std::vector<int>> mpi_memory;  // of its messages; none where the kernel does not say
};

template <typename Visit>
void each_field(Percentiles& times, Visit& visit) {
    for (double* time : {&times.p50, &times.p95, &times.p99, &times.max}) visit(*time);
    visit(times.n);
}

template <typename Visit>
void each_field(MovedFlow& flow, Visit& visit) {
    visit(flow.rate);
    visit(flow.starved);
}

template <typename Visit>
void each_field(RankSeen& seen, Visit& visit) {
    for (bool* is : {&seen.late, &seen.empty, &seen.wrong}) visit(*is);
    visit(seen.latency);
    visit(seen.rate);
    visit(seen.moved);
}

template <typename Visit>
void each_field(RankTold& told, Visit& visit) {
    visit(told.mpi_cpus);
    visit(told.flow_cpus);
    visit(told.memory_nodes);
    visit(told.chunks);
    visit(told.mpi_memory);
}

enum class Beside { nothing, moving, polling };

// One kind of window: who takes part. `traffic`: which of the run's, or -1 for none (the movers alone).
struct PhaseKind {
    std::size_t arrangement;
    int traffic;
    Beside beside;
    bool operator<(const PhaseKind& other) const {
        return std::tie(arrangement, traffic, beside) < std::tie(other.arrangement, other.traffic, other.beside);
    }
};

// The kinds of windows that make up a round, in order.
std::vector<PhaseKind> phases_of(const std::vector<Arrangement>& arrangements, std::size_t traffics);

// By kind of window, then round, then rank. Every kind has as many rounds.
using Rounds = std::map<PhaseKind, std::vector<std::vector<RankSeen>>>;

struct ContentionRun {
    std::vector<HostRanks> hosts;
    std::vector<RankRole> roles;
    std::vector<Arrangement> arrangements;
    std::vector<Traffic> traffics;
    std::vector<Cell> cells;  // of each host's movers, by number
    bool between = false;     // each arrangement is a pair between two NUMA nodes
    bool oversubscribed = false;
    With with = With::gpu;
    std::vector<RankTold> ranks;
    std::vector<ClockOffset> offsets;  // of each host's clock against rank 0's
    std::vector<NotMeasured> skipped;
    Rounds rounds;

    // Those that are complete.
    std::size_t count_rounds() const { return rounds.empty() ? 0 : rounds.begin()->second.size(); }
};

struct TaskFigures {
    std::string name;        // "r4:r5", or a flow
    std::vector<int> ranks;  // the initiator first; of a flow the one that moves it
    std::size_t flow = 0;    // of its mover
    Summary rate{};          // together with the other kind (where there is none: alone); us or GB/s
    Percentiles spread{};    // ping-pong: medians over the rounds, and the longest of all
    std::optional<Summary> solo{};
    std::optional<Percentiles> solo_spread{};
    std::optional<Summary> polled{};  // beside movers that poll and move nothing
    std::optional<Summary> penalty{};
    bool starved = false;
};

struct ContentionResult {
    std::string quantity;
    std::string subject;
    std::size_t bytes = 0;
    std::string unit;
    bool converged = false;
    bool wrong = false;
    Layout layout = Layout::apart;
    int pairs = 0;  // that take part
    std::vector<TaskFigures> tasks;
    // Over the tasks: of the mean latency or the sum of the rates.
    Summary total;
    std::optional<Summary> penalty;
    std::optional<Summary> tail_penalty;  // ping-pong: of the 99th percentile
    std::optional<Summary> polled_penalty;
};

// Half the width of a penalty's interval (or of a lone latency's or rate's, over its median) at which it is known well enough.
constexpr double narrow = 0.02;

// What it costs in each round, of what both is known of; nothing where that is of none. Of a latency: how much longer it takes, contended /
// solo - 1. Of a rate: how much of it is gone, 1 - contended / solo: a starved task (rate 0) loses all of it.
std::optional<Summary> penalty_of(const std::vector<double>& contended, const std::vector<double>& solo, bool is_latency);

// Whether the interval of a penalty is as narrow as asked, in its own unit (0.02: two points of a hundred).
bool is_narrow(const Summary& penalty, double half_width);

// What the rounds so far say; nothing where there is none.
std::vector<ContentionResult> contention_results(const ContentionRun& run);

}  // namespace nearfar
