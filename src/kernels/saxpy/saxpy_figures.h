// From the times of all ranks and rounds to the figures of the document, and of a terminal. Pure.
#pragma once

#include <string>
#include <vector>

#include "cell/results.h"
#include "node/rank_binding.h"

namespace nearfar {

// One rank's part of one round, in seconds for all its iterations together.
struct RankRound {
    double to_device = 0;
    double kernel = 0;
    double to_host = 0;
    double useful = 0;   // outside MPI
    double waiting = 0;  // in the barrier
    double elapsed = 0;  // from the barrier before the first iteration to the one after the last
};

template <typename Visit>
void each_field(RankRound& round, Visit& visit) {
    for (double* time : {&round.to_device, &round.kernel, &round.to_host, &round.useful, &round.waiting, &round.elapsed})
        visit(*time);
}

// The efficiencies of a parallel program by the definitions of the POP Centre of Excellence (pop-coe.eu, "POP Standard Metrics for Parallel
// Performance Analysis"). Useful is what a rank does outside MPI.
struct Efficiencies {
    double load_balance = 0;   // mean over greatest useful time
    double communication = 0;  // greatest useful time over run time, which is the longest elapsed time
    double parallel = 0;       // their product: mean useful time over run time
};

// Needs at least one rank, and times above 0.
Efficiencies efficiencies(const std::vector<RankRound>& ranks);

// All that was measured under one binding.
struct BindingRounds {
    Binding binding = Binding::launcher;
    std::vector<std::vector<RankRound>> rounds;  // [round][rank]
    std::vector<std::vector<int>> cpus;          // [rank], in effect
    std::vector<std::vector<int>> memory_nodes;  // [rank], in effect
};

struct SaxpyShape {
    std::size_t bytes = 0;  // of one vector
    int iterations = 0;     // in a round
    bool host_device = false;
};

// "saxpy/gpu"
std::string saxpy_subject(Binding binding);

// Whether parallel efficiency and run time are known within `target`, relative.
bool is_settled(const BindingRounds& measured, double target);

// The figures of every binding that has a round, and how much faster the GPUs' binding is than each other one, round by round.
std::vector<CellResult> saxpy_figures(const std::vector<BindingRounds>& measured, const SaxpyShape& shape, double target);

// A line for each figure: efficiencies, times and ratios; of rates the least, mean and greatest of the ranks.
std::string saxpy_table(const std::vector<CellResult>& results);

}  // namespace nearfar
