// The data that is moved: every 8-byte word follows from a seed and its position, so that stale or misplaced data shows.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__CUDACC__) || defined(__HIP__)
#define NEARFAR_BOTH __host__ __device__
#else
#define NEARFAR_BOTH
#endif

namespace nearfar {

// A source is read from its start or from so many bytes further on, in turn: it is two sources that differ in every byte.
constexpr std::size_t turn_bytes = std::size_t{2} << 20;

constexpr std::uint64_t poison_seed = std::uint64_t{1} << 63;  // a source's seed is below

// Of each byte two bits are no chance: one differs between the two turns of a source, the other between a source and poison.
NEARFAR_BOTH inline std::uint64_t pattern(std::uint64_t seed, std::uint64_t word) {
    constexpr std::uint64_t each_byte = 0x0101010101010101ULL;
    constexpr std::uint64_t turn_words = turn_bytes / sizeof(std::uint64_t);
    const std::uint64_t place = word + seed;
    std::uint64_t x = place * 0x9e3779b97f4a7c15ULL;
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93ULL;
    return (x & 0x3f * each_byte) | (place / turn_words & 1) * 0x40 * each_byte | (place >> 63) * 0x80 * each_byte;
}

// Fills words [first, first + words) of a buffer that starts at `data`, on the CPU.
inline void fill_pattern(void* data, std::uint64_t seed, std::size_t first, std::size_t words) {
    auto* out = static_cast<std::uint64_t*>(data);
    for (std::size_t i = first; i < first + words; ++i) out[i] = pattern(seed, i);
}

}  // namespace nearfar
