// A contention run as entries of the measurement document, and as a table. docs/method/contention.md defines both.
#pragma once

#include "mpi/contention.h"
#include "output/json.h"

namespace nearfar {

// Entries of `results`.
void write_contention_results(Json& json, const ContentionState& state, double window);

// Keys of the document: who ran where, and how far apart the hosts' clocks are.
void write_contention_keys(Json& json, const ContentionState& state, const MpiWorld& world);

void print_contention_table(const ContentionState& state);

// Who runs where, one rank a line.
void print_contention_plan(const ContentionState& state, const MpiWorld& world);

// What was wrong with the messages, in words; empty: nothing.
std::string wrong_messages(const ContentionState& state);

}  // namespace nearfar
