#include "memory/pattern.h"

namespace nearfar {

void fill_pattern(void* data, std::uint64_t seed, std::size_t first, std::size_t words) {
    auto* out = static_cast<std::uint64_t*>(data);
    for (std::size_t i = first; i < first + words; ++i) out[i] = pattern(seed, i);
}

}  // namespace nearfar
