// Copies between a GPU and host memory as what moves beside MPI, through the same code as nearfar-copy's windows.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "mpi/contention/data_mover.h"
#include "node/node.h"

namespace nearfar {

// Starts CUDA for the cell's GPU alone, allocates, registers and warms up. `cpus`: of each flow's thread. Throws Prevented or Failure with
// the reason why it cannot be measured. In a build without CUDA it throws Prevented.
std::unique_ptr<DataMover> make_copy_mover(const Node& node, const Cell& cell, const std::vector<std::vector<int>>& cpus,
                                           bool even_if_busy);

// The CUDA that the program was built with ("12.4"); empty: none.
std::string mover_cuda_version();

}  // namespace nearfar
