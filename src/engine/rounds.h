// Cells measured in rounds of short visits: what disturbs a machine lasts longer than a visit, and only ever takes away. Budget,
// interruption, and what cannot be measured are told the same way everywhere.
#pragma once

#include <cstddef>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cell/policy.h"
#include "cell/results.h"
#include "node/node.h"

namespace nearfar {

// What is done next: its place among so many, in words, and the cells that it measures.
struct Step {
    std::size_t position = 0;
    std::size_t count = 0;
    std::string words;
    std::vector<std::string> cells;
};

// Called before each step.
using Progress = std::function<void(const Step& step)>;

// Takes the cells that name what this node lacks out of `cells`: into the session's failed ones, or, where not `absent_fails`,
// as WrongUse.
void set_absent_aside(std::vector<Cell>& cells, const Node& node, bool absent_fails, Session& session);

// What became of one cell of a set that was visited in company: its result, or what went wrong with it. Neither: others spoiled
// it, measure it alone.
struct SetOutcome {
    std::optional<CellResult> result;
    std::exception_ptr trouble;
};

// How cells are visited; `round` counts from 0 on.
struct Bench {
    std::function<std::vector<CellResult>(const Cell& cell, const Policy& policy, double seconds, int round)> alone;
    // All in one window, each with a result of its own that says what ran beside it; called with two cells or more, throws nothing
    // for a single one's sake.
    std::function<std::vector<SetOutcome>(const std::vector<Cell>& cells, const Policy& policy, double seconds)> together =
        nullptr;
    // Positions of the results that are doubted beside the others.
    std::function<std::vector<std::size_t>(const std::vector<CellResult>& known)> doubted = nullptr;
};

// One visit with samples half as long, as --quick has it.
Policy quick_policy(Policy usual);

// Visits the cells in rounds, those that are alike not one after the other, until each was visited enough
// (is_visited_enough), or the budget, which counts from `begin`, is used up. A cell that fails in any visit has failed; what
// prevents a later visit leaves it with those it had.
//
// `sets` has each position of `cells` once. Those of a set are visited in company, until all of them were visited enough. Once that
// is so of all sets, what is doubted of them is visited alone, and these visits take the place of the others. So are cells that the
// others of their set spoiled. Where the policy is quick, one short visit is enough, in company or alone, and what is doubted of all is
// visited anew, in the usual way: it is reported by that, or not at all.
void measure_in_rounds(const std::vector<Cell>& cells, const std::vector<std::vector<std::size_t>>& sets, const Policy& policy,
                       double begin, Session& session, const Progress& progress, const Bench& bench);

// The same, each cell alone.
void measure_in_rounds(const std::vector<Cell>& cells, const Policy& policy, double begin, Session& session,
                       const Progress& progress,
                       const std::function<std::vector<CellResult>(const Cell&, double seconds, int round)>& alone);

// What is done next with these cells at once, in the words of their texts.
Step step_of(std::size_t position, std::size_t count, const std::vector<Cell>& cells, int round = 0);

// The order of a round over so many cells: a permutation that leaves neighbours of the list apart, another one in each round.
std::vector<std::size_t> order_of_round(std::size_t cells, int round);

}  // namespace nearfar
