// How large the chunks of windowed flows are, the buffers that hold them, and the arrays of STREAM. Pure.
#pragma once

#include <cstddef>

#include "cell/cell.h"

namespace nearfar {

// How long a chunk lasts alone. Of each copy about 14 us are its start-up: 1 % of a short one, which other GPUs' flows fill; where
// one GPU is alone with the bus nobody does, and chunks are long.
enum class ChunkLength { short_one, long_one };
ChunkLength chunk_length(const Cell& cell);

// The chunk that lasts about 1.3 ms (short) or 4.8 ms (long) at a flow's rate in GB/s, which `tasks` divide: several to a buffer
// where that is large enough for four, else at most the buffer.
std::size_t chunk_for(double rate, std::size_t buffer, ChunkLength length, int tasks = 1);

// The bytes of a buffer that holds a chunk of 1.2 ms or more at a rate in GB/s, of a host flow twice that (its chunks are long where
// the GPU is alone): `usual`, or the multiple of it that is large enough.
std::size_t buffer_for(double rate, bool host_flow, std::size_t usual);

// Bytes of each array of STREAM that are wanted: a power of two, at least `usual` and sixteen times a last-level cache of `cache` bytes.
std::size_t wanted_stream_array(std::size_t usual, std::size_t cache);

// Halves what is wanted until `sets` sets of arrays fit into nine tenths of `free` bytes; 0 where four times the cache (STREAM's
// rule) do not.
std::size_t fitting_stream_array(std::size_t wanted, std::size_t cache, std::size_t free, std::size_t sets);

constexpr std::size_t stream_arrays = 3;  // of a set

}  // namespace nearfar
