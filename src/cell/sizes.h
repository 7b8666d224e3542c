// Sizes of copies: as people write them, and what a curve over them says.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cell/results.h"

namespace nearfar {

// "1KiB..1GiB" (powers of two from the first on, the last included) or "4KiB,1MiB", ascending; throws WrongUse for what is not a
// size, is 0, or is above 64 GiB, in words that begin with `name`.
std::vector<std::size_t> parse_sizes(const std::string& text, const std::string& name = "--sizes");

// "4KiB" for 4096; in bytes where it is no multiple of 1024.
std::string size_words(std::size_t bytes);

// One curve for each cell that was measured at several sizes. The half-bandwidth size is the smallest at which the rate is half
// of the largest seen, between two sizes interpolated on logarithms (Hockney's n1/2); the smallest size where all reach it.
std::vector<SizeCurve> size_curves(const std::vector<CellResult>& results);

}  // namespace nearfar
