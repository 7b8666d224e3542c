#include "gpu/chunks.h"

#include <algorithm>

#include "memory/copy_series.h"

namespace nearfar {
namespace {

constexpr std::size_t grain = std::size_t{1} << 20;
constexpr std::size_t places = 4;              // of a buffer, for chunks that are no larger
constexpr double as_good_as_a_quarter = 1.08;  // 64 MiB last 1.2 ms on PCIe 5
constexpr double short_seconds = 0.0013;
constexpr double long_seconds = 0.0048;
constexpr std::size_t caches_wanted = 16;  // of an array of STREAM
constexpr std::size_t caches_needed = 4;
constexpr std::size_t least_array = std::size_t{256} << 10;

std::size_t chunk_of(double rate, double seconds) {
    return std::max(grain, static_cast<std::size_t>(rate * 1e9 * seconds) / grain * grain);
}

std::size_t quarter_of(std::size_t buffer) { return std::max(grain, buffer / places / grain * grain); }

bool fits_a_quarter(std::size_t chunk, std::size_t buffer) {
    return static_cast<double>(chunk) <= as_good_as_a_quarter * static_cast<double>(quarter_of(buffer));
}

}  // namespace

ChunkLength chunk_length(const Cell& cell) {
    const int gpu = cell.flows[0].driving_gpu();
    const bool alone = std::all_of(cell.flows.begin(), cell.flows.end(), [gpu](const Flow& flow) {
        return flow.is_host_flow() && flow.driving_gpu() == gpu && flow.tasks == 1;
    });
    return alone ? ChunkLength::long_one : ChunkLength::short_one;
}

std::size_t chunk_for(double rate, std::size_t buffer, ChunkLength length, int tasks) {
    const double seconds = length == ChunkLength::long_one ? long_seconds : short_seconds;
    const std::size_t wanted = chunk_of(rate, seconds);
    const std::size_t shared = chunk_of(rate / tasks, seconds);  // lasts so long in the company of the others
    return fits_a_quarter(shared, buffer) ? std::min(wanted, quarter_of(buffer)) : std::min(shared, buffer);
}

std::size_t buffer_for(double rate, bool host_flow, std::size_t usual) {
    const std::size_t chunk = chunk_of(rate, short_seconds);
    if (fits_a_quarter(chunk, usual)) return usual;
    const std::size_t wanted = host_flow ? 2 * chunk : chunk;
    return std::max(usual, (wanted + usual - 1) / usual * usual);
}

std::size_t wanted_stream_array(std::size_t usual, std::size_t cache) {
    std::size_t bytes = usual;
    while (bytes < caches_wanted * cache) bytes *= 2;
    return bytes;
}

std::size_t fitting_stream_array(std::size_t wanted, std::size_t cache, std::size_t free, std::size_t sets) {
    const std::size_t room = free / 10 * 9;
    const std::size_t least = std::max(least_array, caches_needed * cache);
    for (std::size_t bytes = wanted; bytes >= least; bytes /= 2)
        if (sets * stream_arrays * (bytes + spare_bytes) <= room) return bytes;
    return 0;
}

}  // namespace nearfar
