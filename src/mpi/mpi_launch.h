// What the launcher says of this process in its environment, before (or without) MPI.
#pragma once

#include <optional>

namespace nearfar {

// This process's rank and how many were started together, by mpirun, mpiexec or srun; nothing where none of them says so.
std::optional<int> launched_rank();
std::optional<int> launched_size();

}  // namespace nearfar
