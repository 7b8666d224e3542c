// The answer of a CUDA call, turned into what the caller has to report.
#pragma once

#include <string>

#include "core/error.h"
#include "gpu/gpu_runtime.h"

namespace nearfar {

// Throws Prevented where measuring was prevented (GPU taken, memory short, driver missing), Failure where the GPU failed.
void check(cudaError_t result, const char* what);

// What helps where the programs, the driver or the container do not fit together; empty for all other errors.
std::string help_of_installation(cudaError_t result);

// The CUDA of this build, "13.0". No call of CUDA: programs start processes before CUDA.
std::string compiled_cuda_version();
// Whether an event has happened; throws what went wrong before it. One that has not leaves no error behind for the next call.
bool has_happened(cudaEvent_t event);
// The time between two events that have, in seconds.
double seconds_between(cudaEvent_t from, cudaEvent_t to);

}  // namespace nearfar
