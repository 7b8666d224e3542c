// The kernels that measuring needs; each is queued on a stream of the current device.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpu/gpu_runtime.h"
#include "memory/copy_series.h"

namespace nearfar {

// What host and latch kernel share, in mapped host memory.
struct LatchFlag {
    volatile int open;
    volatile int timed_out;
};

// Holds the stream until flag->open is set, at most `seconds` (then flag->timed_out is set).
void queue_latch(LatchFlag* flag, double seconds, cudaStream_t stream);

// Moves bytes by a kernel, `passes` times, each `step` bytes further on in the destination than the one before; from and to anything
// that the device can address. Addresses and step are multiples of 16. Where passes overlap, the later one's bytes stay.
void queue_sm_copy(void* destination, const void* source, std::size_t bytes, int passes, std::size_t step, cudaStream_t stream);

void queue_fill(void* data, std::uint64_t seed, std::size_t words, cudaStream_t stream);

// Adds to *wrong the number of words of the destination that starts at `data` which are not as expected.
void queue_verify(const void* data, const Arrival& arrival, unsigned long long* wrong, cudaStream_t stream);

// Bytes from one chased line to the next: no two in one line of any cache.
constexpr std::size_t chase_line = 256;
// How many lines are chased: more than any GPU's cache holds. Of host memory at least as many as fill the last-level caches of a
// package so many times.
extern const std::size_t chase_lines;
extern const std::size_t chase_host_caches;

// Bytes of each array of STREAM by GPUs, if caches and free memory ask for nothing else: in a GPU's memory, and in the host's.
extern const std::size_t gpu_stream_array;
extern const std::size_t host_stream_array;

// Writes into each line the number of the next; into the last, of the first.
void queue_lines(void* lines, std::uint32_t count, cudaStream_t stream);

// One thread follows `steps` lines from *at on (each holds the number of the next) and leaves in *at where it stopped.
void queue_chase(const void* lines, std::uint32_t* at, std::uint32_t steps, cudaStream_t stream);

// A kernel that does nothing.
void queue_nothing(cudaStream_t stream);

// Loads every kernel now: a kernel that is loaded lazily behind a closed latch waits for it for ever.
void load_kernels();

}  // namespace nearfar
