// Numbers of operands, each from its position alone.
#pragma once

#include <cstdint>

#include "memory/pattern.h"

namespace nearfar {

// Bits that look like chance.
NEARFAR_BOTH inline std::uint64_t mixed(std::uint64_t i) {
    std::uint64_t x = (i + 1) * 0x9e3779b97f4a7c15ULL;
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93ULL;
    x ^= x >> 32;
    return x;
}

// From -0.5 to 0.5, evenly, with a full mantissa: what bits of operands are 0 decides how much power a GPU draws.
NEARFAR_BOTH inline double unit_value(std::uint64_t i) { return static_cast<double>(mixed(i) >> 11) * 0x1p-53 - 0.5; }

// A whole number from -most to most.
NEARFAR_BOTH inline double whole_value(std::uint64_t i, std::uint64_t most) {
    return static_cast<double>((mixed(i) >> 11) % (2 * most + 1)) - static_cast<double>(most);
}

// -1 or 1.
NEARFAR_BOTH inline double sign_value(std::uint64_t i) { return (mixed(i) & 0x100) != 0 ? 1 : -1; }

}  // namespace nearfar
