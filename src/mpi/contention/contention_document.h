// A contention run as entries of the measurement document, and as a table. docs/reference/document.md defines both.
#pragma once

#include "mpi/contention/contention_results.h"
#include "mpi/mpi_world.h"
#include "output/json.h"

namespace nearfar {

// The entries of `results`, each an object.
std::vector<std::string> contention_items(const ContentionRun& run, double window);

// The key `contention`: who ran where, and how far apart the hosts' clocks are.
std::string contention_json(const ContentionRun& run, const MpiWorld& world);

std::string contention_table(const ContentionRun& run);

// Who runs where, one rank a line.
void print_contention_plan(const ContentionRun& run, const MpiWorld& world);

// What was wrong with the messages, in words; empty: nothing.
std::string wrong_messages(const ContentionRun& run);

}  // namespace nearfar
