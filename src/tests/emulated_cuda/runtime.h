// The state of the emulated runtime, for its functions and its kernels.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <utility>

#include "gpu/gpu_runtime.h"
#include "tests/emulated_cuda/calls.h"
#include "tests/emulated_cuda/stream.h"

namespace emulated_cuda {

// The calling thread's GPU.
int current_device();

// Counts a call for the current GPU (or `device`), lets it go wrong, and else does its work. What it answers is the thread's last
// error if it is one.
cudaError_t call(const char* name, const std::function<cudaError_t()>& work);
cudaError_t call(const char* name, int device, const std::function<cudaError_t()>& work);

// The same for what a stream does: `work` is queued, and left out where the GPU is lost by then. A stream of nullptr is the
// current GPU's own.
cudaError_t queue_call(const char* name, cudaStream_t stream, Stream::Work work);

// The GPU is lost from now on: every call for it answers with this error.
void lose(int device, cudaError_t error);

// The GPU that an address is on; -1: host memory.
int place_of(const void* address);
// Moves bytes by the path between two places, `passes` times, each `step` bytes further on than the one before, from `start` on;
// returns when it was over.
double move(void* destination, int destination_place, const void* source, int source_place, std::size_t bytes, int passes,
            std::size_t step, double start);

}  // namespace emulated_cuda
