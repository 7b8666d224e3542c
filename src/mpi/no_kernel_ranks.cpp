// In the place of kernel_ranks.cpp and saxpy_ranks.cpp where there is no MPI.
#include "core/error.h"
#include "mpi/kernel_ranks.h"
#include "mpi/mpi_launch.h"

namespace nearfar {

bool is_first_rank() { return true; }

bool measures_as_rank(const KernelsOptions& options) {
    if (!options.bindings.empty()) throw WrongUse("--binding is for ranks, and nearfar-kernels was built without MPI");
    return false;
}

int measure_kernel_ranks(int, char**, const KernelsOptions&) { return 2; }

int measure_saxpy_ranks(int, char**, const SaxpyOptions&) {
    throw WrongUse(
        "saxpy is for ranks, and nearfar-kernels was built without MPI: install an MPI with its mpicxx and build it again");
}

}  // namespace nearfar
