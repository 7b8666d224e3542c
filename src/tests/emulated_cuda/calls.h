// Every call of the emulated runtime is counted here, and goes wrong here where it is to.
#pragma once

#include "gpu/gpu_runtime.h"

namespace emulated_cuda {

// What a call is to do instead of its work, or beside it.
struct Verdict {
    cudaError_t error = cudaSuccess;  // answer this and do nothing
    cudaError_t lose = cudaSuccess;   // the GPU is lost with this error: now, or once the stream is there
    bool later = false;               // `lose`: once the stream is there
    double slower = 1;                // what it queues takes so many times as long
    bool stall = false;               // the stream never gets past it
};

// Counts a call for a GPU. May never return.
Verdict count_call(const char* name, int device);

// Counts a copy; says whether it is to be left out.
bool leaves_out_copy();

// A latch was queued: copies count for `leave_out_latched` from now on.
void note_latch();

}  // namespace emulated_cuda
