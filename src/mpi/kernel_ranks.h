// nearfar-kernels with a rank a GPU: all compute and transfer at the same time, by binding.
#pragma once

#include "kernels/level_one/kernels_options.h"

namespace nearfar {

// Whether a launcher started this process as one of several, or as one that is to be bound. Throws WrongUse for --binding without one.
bool measures_as_rank(const KernelsOptions& options);

// Everything of such a process, from the one that looks after it to the exit code.
int measure_kernel_ranks(int argc, char** argv, const KernelsOptions& options);

}  // namespace nearfar
