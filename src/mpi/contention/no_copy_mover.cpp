// In place of copy_mover.cpp where there is no CUDA compiler.
#include "core/error.h"
#include "mpi/contention/data_mover.h"

namespace nearfar {

DataMovers copy_movers(const Node&, const Cell&, const std::vector<std::vector<int>>&, bool) {
    throw Prevented("missing_library", "this program was built without CUDA: say --mpi-only or --with stream");
}

std::string mover_cuda_version() { return ""; }

}  // namespace nearfar
