// Numbers of 32 bits as operands, and their order.
#pragma once

#include <cstddef>
#include <cstdint>

#include "node/team.h"

namespace nearfar {

// Bits that look like chance, n of them.
void fill_numbers(std::uint32_t* numbers, std::size_t n, const Team& team);

// n pairs, keys and behind them values, in ascending order of the keys, equal keys as they came.
void sort_pairs(const std::uint32_t* in, std::uint32_t* out, std::size_t n);

}  // namespace nearfar
