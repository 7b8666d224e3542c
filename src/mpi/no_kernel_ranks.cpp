// In the place of kernel_ranks.cpp where there is no MPI.
#include "core/error.h"
#include "mpi/kernel_ranks.h"

namespace nearfar {

bool is_first_rank() { return true; }

bool measures_as_rank(const KernelsOptions& options) {
    if (!options.bindings.empty()) throw WrongUse("--binding is for ranks, and nearfar-kernels was built without MPI");
    return false;
}

int measure_kernel_ranks(int, char**, const KernelsOptions&) { return 2; }

}  // namespace nearfar
