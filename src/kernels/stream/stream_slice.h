// One thread's slice of STREAM's arrays: a kernel over it, chunk after chunk, until told to stop, and whether its answer is right.
#pragma once

#include <string>

#include "engine/engine.h"
#include "kernels/stream/stream_kernels.h"
#include "node/team.h"

namespace nearfar {

// In how many chunks a slice of `length` elements an array is worked through: a power of two, more where they would be large, so that
// one core on memory meant for all soon has enough of them.
std::size_t chunks_a_pass(std::size_t length);

// The `share`th of `shares` slices of whole arrays, each a multiple of its chunks.
StreamArrays slice_of(const StreamArrays& whole, std::size_t share, std::size_t shares);

// Runs chunks from the thread's start to its stop. Returns how many bytes of answers were compared; throws Failure (wrong_data), with
// `who` in its words, where one is wrong. `helpers` set the arrays' values before and compare after.
std::size_t run_slice(Kernel kernel, const StreamArrays& slice, const std::string& who, const Team& helpers, FlowThread& thread);

// Bytes that STREAM counts for one chunk of a slice.
std::size_t chunk_bytes(Kernel kernel, const StreamArrays& slice);

}  // namespace nearfar
