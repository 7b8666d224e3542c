// The kernels of STREAM on GPUs; each is queued on a stream of the current device. Arrays may be anything that it can address, begin at
// a multiple of 16 bytes and have a multiple of gpu_stream_grain bytes.
#pragma once

#include <cstddef>

#include "cell/cell.h"
#include "gpu/gpu_runtime.h"
#include "memory/copy_series.h"

namespace nearfar {

// Bytes of an array that one block works through at a time.
constexpr std::size_t gpu_stream_grain = std::size_t{16} << 10;

// Fills `words` of both arrays with their values (kernels/stream/stream_values.h).
void queue_stream_values(double* a, double* b, std::size_t words, cudaStream_t stream);

// What one pass works on.
struct GpuStreamPass {
    const double* a;
    const double* b;
    double* c;
    double* sum;             // of the device: dot and read add to it
    std::size_t bytes;       // of each array
    std::size_t first_word;  // how many elements of a and b come before these
    unsigned fill;           // the byte of `fill`
};

void queue_stream_pass(Kernel kernel, const GpuStreamPass& pass, cudaStream_t stream);

// Adds to *wrong the number of words of the destination that starts at `data` which are not what the kernel's passes leave.
void queue_stream_verify(Kernel kernel, const void* data, const Arrival& arrival, unsigned long long* wrong, cudaStream_t stream);

// Loads them for the current device: one that is loaded behind a closed latch waits for it for ever.
void load_stream_kernels();

}  // namespace nearfar
