// The efficiencies of a parallel program by the definitions of the POP Centre of Excellence (pop-coe.eu, "POP Standard Metrics
// for Parallel Performance Analysis"). Useful is what a rank does outside MPI.
#pragma once

#include <vector>

namespace nearfar {

// One rank's share of one run, in seconds of any clock of its own.
struct RankTimes {
    double useful = 0;   // outside MPI
    double elapsed = 0;  // from the common start to the common end
};

struct Efficiencies {
    double load_balance = 0;   // mean over greatest useful time
    double communication = 0;  // greatest useful time over run time, which is the longest elapsed time
    double parallel = 0;       // their product: mean useful time over run time
};

// Needs at least one rank, and times above 0.
Efficiencies efficiencies(const std::vector<RankTimes>& ranks);

// Each value over the mean of all: 1 where all are the same.
std::vector<double> over_mean(const std::vector<double>& values);

}  // namespace nearfar
