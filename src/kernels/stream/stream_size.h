// How large the arrays of STREAM on a GPU are. Pure.
#pragma once

#include <cstddef>

namespace nearfar {

// Bytes that are wanted: a power of two, at least `usual` and sixteen times a last-level cache of `cache` bytes.
std::size_t wanted_stream_array(std::size_t usual, std::size_t cache);

// Halves what is wanted until `sets` sets of three arrays fit into nine tenths of `free` bytes; 0 where four times the cache (STREAM's
// rule) do not.
std::size_t fitting_stream_array(std::size_t wanted, std::size_t cache, std::size_t free, std::size_t sets);

}  // namespace nearfar
