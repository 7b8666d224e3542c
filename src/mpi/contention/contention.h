// MPI and data transfers of a node, alone and together, in windows that all ranks agree on.
#pragma once

#include "mpi/contention/contention_options.h"
#include "mpi/mpi_world.h"
#include "output/document.h"
#include "supervisor/teller.h"

namespace nearfar {

// On every rank, in rounds until the intervals are narrow, or there were as many as allowed; where only a list is asked for, rank 0 prints who
// would run where. `teller`: rank 0's, null on the others. All ranks throw what one of them throws as WrongUse.
void measure_contention(MpiWorld& world, const ContentionOptions& options, const ProgramRun& run, const Teller* teller);

}  // namespace nearfar
