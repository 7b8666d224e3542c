#include "memory/pattern.h"

namespace nearfar {

void fill_pattern(void* data, std::uint64_t seed, std::size_t first, std::size_t words) {
    auto* out = static_cast<std::uint64_t*>(data);
    for (std::size_t i = first; i < first + words; ++i) out[i] = pattern(seed, i);
}

std::size_t wrong_words(const void* data, std::uint64_t seed, std::size_t words) {
    const auto* in = static_cast<const std::uint64_t*>(data);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < words; ++i) wrong += in[i] != pattern(seed, i) ? 1 : 0;
    return wrong;
}

}  // namespace nearfar
