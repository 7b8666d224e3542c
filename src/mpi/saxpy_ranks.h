// The ranks of `nearfar-kernels saxpy`, one a GPU: how well they are balanced that transfer, compute and wait for each other, by binding.
#pragma once

#include "kernels/saxpy/saxpy_options.h"

namespace nearfar {

// Everything of a rank, from the process that looks after rank 0 to the exit code. Throws WrongUse where there is no MPI.
int measure_saxpy_ranks(int argc, char** argv, const SaxpyOptions& options);

}  // namespace nearfar
