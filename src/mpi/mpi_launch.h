// What the launcher says of this process in its environment, before (or without) MPI.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

namespace nearfar {

// This process's rank and how many were started together, by mpirun, mpiexec or srun; nothing where none of them says so.
std::optional<int> launched_rank();
std::optional<int> launched_size();

// Whether this process speaks for all: it is rank 0, or no launcher started it.
bool is_first_rank();

// The ranks that the launcher of a process (`front`, a rank with this process's environment) has started and that are there no more,
// in words, by the environments of its processes. Empty where none is missing, and where not all ranks run on this host: then the
// launcher does not say which they are.
std::string missing_ranks(pid_t front);

}  // namespace nearfar
