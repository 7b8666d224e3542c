// The ranks of a program that measures with all of them: rank 0 is looked after, the others end with it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "mpi/mpi_world.h"
#include "supervisor/supervisor.h"

namespace nearfar {

// How a program runs as ranks.
struct RankProgram {
    int argc;
    char** argv;
    ProgramRun run;
    const CommonOptions& options;
    bool with_gpus;  // the driver is asked who else is on the GPUs
    MpiThreads threads = MpiThreads::main_alone;
    std::function<void()> before_mpi = nullptr;  // in each process that starts MPI
};

// On this rank, with rank 0's teller and null on the others.
using MeasureAsRank = std::function<void(MpiWorld& world, const Teller* teller)>;

// Everything of a rank, from the process that looks after rank 0 to the exit code.
int supervise_ranks(const RankProgram& program, const MeasureAsRank& measure);

// Whether all ranks made a step; else `teller`, where there is one, says of these subjects why not ("": of the whole run).
bool is_made(const Teller* teller, const std::vector<std::string>& subjects, const std::function<void()>& step);

}  // namespace nearfar
