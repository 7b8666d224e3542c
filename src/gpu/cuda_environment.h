// What CUDA reads of the environment when it starts.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <string>

#include "node/gpu_vendor.h"

namespace nearfar {

// Kernels are loaded at once, and so many streams of one GPU do not wait for each other. Call while the process has one thread, before
// anything that may start CUDA, as an MPI may.
inline void set_cuda_environment(int streams_a_gpu) {
    constexpr int least_connections = 4;
    constexpr int most_connections = 32;
    setenv("CUDA_MODULE_LOADING", "EAGER", 1);
    // Each connection costs every context about 16 ms at its start and again at its end; too few and streams wait for each other.
    const int connections = std::clamp(streams_a_gpu, least_connections, most_connections);
    setenv(gpu_vendor.hardware_queues, std::to_string(connections).c_str(), 0);
}

}  // namespace nearfar
