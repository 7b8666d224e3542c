// The data that is moved: every 8-byte word follows from a seed and its position, so that stale or misplaced data shows.
#pragma once

#include <cstddef>
#include <cstdint>

#ifdef __CUDACC__
#define NEARFAR_BOTH __host__ __device__
#else
#define NEARFAR_BOTH
#endif

namespace nearfar {

NEARFAR_BOTH inline std::uint64_t pattern(std::uint64_t seed, std::uint64_t word) {
    std::uint64_t x = (word + seed) * 0x9e3779b97f4a7c15ULL;
    x ^= x >> 32;
    return x * 0xd6e8feb86659fd93ULL;
}

constexpr std::uint64_t poison_seed = 0xdeadULL << 40;

// Fills or checks words [first, first + words) of a buffer that starts at `data`, on the CPU.
void fill_pattern(void* data, std::uint64_t seed, std::size_t first, std::size_t words);
std::size_t wrong_words(const void* data, std::uint64_t seed, std::size_t words);

}  // namespace nearfar
