// MPI and data transfers of a node, alone and together, in windows that all ranks agree on.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cell/results.h"
#include "mpi/agreed_window.h"
#include "mpi/contention/contention_options.h"
#include "mpi/contention/contention_results.h"
#include "mpi/contention/contention_told.h"
#include "mpi/contention/data_mover.h"
#include "mpi/mpi_world.h"
#include "node/node.h"

namespace nearfar {

// What rank 0 knows so far.
struct ContentionState {
    ContentionRun run;
    Rounds rounds;
    std::size_t complete = 0;  // rounds
    bool oversubscribed = false;
    std::vector<RankTold> ranks;
    std::vector<NotMeasured> skipped;
    std::vector<ClockOffset> offsets;  // of each host's clock against rank 0's
    std::vector<std::string> hosts;
};

class Contention {
public:
    // Called before anything that may take long, with what it is.
    using Progress = std::function<void(const std::string&)>;
    // Called on rank 0 with the number of rounds that are complete, before each.
    using RoundBegins = std::function<void(std::size_t)>;

    Contention(MpiWorld& world, const ContentionOptions& options, const Node& node, ContentionState& state, Progress progress,
               RoundBegins round_begins);
    ~Contention();
    Contention(const Contention&) = delete;
    Contention& operator=(const Contention&) = delete;

    // Decides who does what and binds; then allocates and opens what it needs. All ranks throw what one of them throws: WrongUse,
    // Prevented, Failure.
    void plan();
    void set_up();
    // Rounds until the intervals are narrow, or there were as many as allowed.
    void measure();

private:
    MpiWorld& world_;
    const ContentionOptions& options_;
    const Node& node_;
    ContentionState& state_;
    Progress progress_;
    RoundBegins round_begins_;
    std::string under_way_ = "set-up";
    ContentionRun run_;
    RankRole role_;
    std::map<Layout, RankCpus> cpus_;
    std::vector<int> leaders_;  // the first rank of each host
    double lead_;
    std::vector<ClockOffset> offsets_;
    RankTold told_;
    std::unique_ptr<DataMover> mover_;
    std::map<Layout, std::unique_ptr<MessageLink>> links_;  // memory of its own, near its CPUs

    void arrange_pairs(const std::vector<HostRanks>& hosts);
    std::string arrange(const std::vector<HostRanks>& hosts, int movers);
    void place(const std::vector<HostRanks>& hosts, Layout layout);
    const std::vector<std::vector<int>>& moving_cpus() const { return cpus_.begin()->second.moving; }
    std::vector<int> bind_main(Layout layout) const;
    void tell_ranks();
    void compare_clocks();
    std::vector<RankSeen> run_phase(const PhaseKind& kind, double length);
    std::vector<RankSeen> take_part(const PhaseKind& kind, double length);
    std::string words_of(const PhaseKind& kind) const;
    void begin(const std::string& what);
    bool is_enough() const;
};

}  // namespace nearfar
