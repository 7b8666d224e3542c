// A quick look at many cells: pairs of GPUs together where they do not notice each other, few and short samples; what then lies
// below its like is measured again alone, in the usual way, before it is reported.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cell/policy.h"
#include "cell/results.h"
#include "engine/rounds.h"

namespace nearfar {

// One visit, with samples half as long.
Policy quick_policy(Policy usual);

// How a quick session has cells measured.
struct QuickBench {
    std::function<std::vector<CellResult>(const Cell& cell, const Policy& policy, double seconds, int round)> alone;
    // All in one window, each with a result of its own; called with two cells or more, throws nothing for a single one's sake.
    std::function<std::vector<SetOutcome>(const std::vector<Cell>& cells, const Policy& policy, double seconds)> together;
    std::function<std::string(const Cell& cell)> kind;  // only cells of one kind are compared
};

// Measures `cells` in the given sets of positions. As in measure_in_rounds, what cannot be measured is told in `session`, and the
// rest goes on.
void measure_quickly(const std::vector<Cell>& cells, const std::vector<std::vector<std::size_t>>& sets, const Policy& usual,
                     double begin, Session& session, const Progress& progress, const QuickBench& bench);

}  // namespace nearfar
