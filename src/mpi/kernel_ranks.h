// nearfar-kernels with a rank a GPU: all compute and transfer at the same time, by binding.
#pragma once

#include "kernels/level_one/kernels_options.h"
#include "kernels/saxpy/saxpy_options.h"

namespace nearfar {

// Whether a launcher started this process as one of several, or as one that is to be bound. Throws WrongUse for --binding without one.
bool measures_as_rank(const KernelsOptions& options);

// Everything of such a process, from the one that looks after it to the exit code.
int measure_kernel_ranks(int argc, char** argv, const KernelsOptions& options);

// The same of `nearfar-kernels saxpy`: how well ranks are balanced that transfer, compute and wait for each other, by binding. Throws WrongUse
// where there is no MPI.
int measure_saxpy_ranks(int argc, char** argv, const SaxpyOptions& options);

}  // namespace nearfar
