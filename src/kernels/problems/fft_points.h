// How long the transforms of sfft and dfft are.
#pragma once

#include <cstddef>

namespace nearfar {

constexpr std::size_t fft_points = 512;

}  // namespace nearfar
