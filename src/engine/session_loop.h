// One cell after the other into a session: budget, interruption, and what cannot be measured, told the same way everywhere.
#pragma once

#include <functional>
#include <vector>

#include "cell/policy.h"
#include "cell/results.h"

namespace nearfar {

// Called before each cell with its position, how many there are, and its text.
using Progress = std::function<void(std::size_t position, std::size_t count, const std::string& cell)>;

// Takes the cells that name what this node lacks out of `cells`: into the session's failed ones, or, where not `absent_fails`,
// as WrongUse.
void set_absent_aside(std::vector<Cell>& cells, const Node& node, bool absent_fails, Session& session);

// A cell's share of a budget: windows with their baselines need several times what one flow behind a latch needs.
double weight(const Cell& cell);
double weight(const std::vector<Cell>& cells);

// What is left of a budget, by weight.
class Budget {
public:
    // `seconds` from `begin` on, 0 for no limit; `weight` of everything that is to be measured.
    Budget(double seconds, double begin, double weight);
    // The seconds for a part of so much weight.
    double share(double weight);

private:
    double end_;
    double left_;
};

// Enters what is known of a cell into `session`: its results, or what `results` throws as Prevented,
// Failure, or for want of memory or threads. ProcessSpent leaves the cell without an answer.
void enter(const Cell& cell, Session& session, const std::function<std::vector<CellResult>()>& results);

// Measures one cell in at most `seconds` and enters what came of it; an interruption, or too little time, is told there too.
void measure_one(const Cell& cell, double seconds, Session& session, const std::function<std::vector<CellResult>()>& measure);

// Measures the cells in order; `measure` gets a cell and the seconds that it may take. What it throws as Prevented or Failure
// goes into `session`, and the rest goes on. The budget counts from `begin`, when set-up is over.
void measure_in_order(const std::vector<Cell>& cells, const Policy& policy, double begin, Session& session,
                      const Progress& progress, const std::function<std::vector<CellResult>(const Cell&, double)>& measure);

}  // namespace nearfar
