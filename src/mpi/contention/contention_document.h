// A contention run as entries of the measurement document, and as a table. docs/reference/document.md defines both.
#pragma once

#include "mpi/contention/contention.h"
#include "output/json.h"

namespace nearfar {

// The entries of `results`, each an object.
std::vector<std::string> contention_items(const ContentionState& state, double window);

// The key `contention`: who ran where, and how far apart the hosts' clocks are.
std::string contention_json(const ContentionState& state, const MpiWorld& world);

std::string contention_table(const ContentionState& state);

// Who runs where, one rank a line.
void print_contention_plan(const ContentionState& state, const MpiWorld& world);

// What was wrong with the messages, in words; empty: nothing.
std::string wrong_messages(const ContentionState& state);

}  // namespace nearfar
