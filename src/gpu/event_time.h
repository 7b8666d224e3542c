// The time between two events of a GPU.
#pragma once

#include "gpu/gpu_call.h"
#include "gpu/gpu_runtime.h"

namespace nearfar {

// In seconds. Both have happened.
inline double seconds_between(cudaEvent_t from, cudaEvent_t to) {
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, from, to), "cudaEventElapsedTime");
    return static_cast<double>(milliseconds) * 1e-3;
}

}  // namespace nearfar
