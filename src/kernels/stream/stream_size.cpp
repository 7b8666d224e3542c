#include "kernels/stream/stream_size.h"

#include <algorithm>

#include "memory/copy_series.h"

namespace nearfar {
namespace {

constexpr std::size_t caches_wanted = 16;
constexpr std::size_t caches_needed = 4;
constexpr std::size_t least_array = std::size_t{256} << 10;
constexpr std::size_t arrays = 3;

}  // namespace

std::size_t wanted_stream_array(std::size_t usual, std::size_t cache) {
    std::size_t bytes = usual;
    while (bytes < caches_wanted * cache) bytes *= 2;
    return bytes;
}

std::size_t fitting_stream_array(std::size_t wanted, std::size_t cache, std::size_t free, std::size_t sets) {
    const std::size_t room = free / 10 * 9;
    const std::size_t least = std::max(least_array, caches_needed * cache);
    for (std::size_t bytes = wanted; bytes >= least; bytes /= 2)
        if (sets * arrays * (bytes + spare_bytes) <= room) return bytes;
    return 0;
}

}  // namespace nearfar
