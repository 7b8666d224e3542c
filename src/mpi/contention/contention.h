// MPI and data transfers of a node, alone and together, in windows that all ranks agree on.
#pragma once

#include <string>
#include <vector>

#include "mpi/contention/contention_plan.h"
#include "mpi/contention/message_traffic.h"
#include "mpi/mpi_world.h"
#include "output/common_options.h"
#include "supervisor/teller.h"

namespace nearfar {

struct ContentionOptions : CommonOptions {
    ContentionAsk ask;
    std::vector<Traffic> traffics;
    std::size_t most_rounds = 14;
    double window = 0.2;  // seconds that count
    bool even_if_busy = false;
    bool mpi_only = false;
    bool list = false;
};

// Throws WrongUse.
ContentionOptions parse_contention_options(int argc, char** argv);

std::string contention_help();

// On every rank, in rounds until the intervals are narrow, or there were as many as allowed; where only a list is asked for, rank 0 prints who
// would run where. `teller`: rank 0's, null on the others. All ranks throw what one of them throws as WrongUse.
void measure_contention(MpiWorld& world, const ContentionOptions& options, const ProgramRun& run, const Teller* teller);

}  // namespace nearfar
