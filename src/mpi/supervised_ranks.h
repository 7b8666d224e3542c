// The ranks of a program that measures with all of them: rank 0 is looked after, the others end with it.
#pragma once

#include <functional>

#include "supervisor/supervisor.h"

namespace nearfar {

// `run` measures on this rank, with rank 0's teller and null on the others, as run_mpi_program() does. Returns the exit code.
int supervise_ranks(const ProgramRun& program, const CommonOptions& options, double hang_seconds, bool with_gpus,
                    const std::function<int(const Teller*)>& run);

}  // namespace nearfar
