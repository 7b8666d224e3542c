// From the times of all ranks and rounds to the figures of the document. Pure.
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

// The run time of each round, in seconds: the longest elapsed time of a rank.
std::vector<double> run_times(const BindingRounds& measured);

// Whether parallel efficiency and run time are known within `target`, relative.
bool is_settled(const BindingRounds& measured, double target);

// The figures of every binding that has a round, and how much faster the GPUs' binding is than each other one, round by round.
std::vector<SubjectResult> saxpy_figures(const std::vector<BindingRounds>& measured, const SaxpyShape& shape, double target);

}  // namespace nearfar
