#include "node/link_ceiling.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace nearfar {
namespace {

constexpr int first_with_flits = 6;

// Of an array that begins with generation 1.
template <std::size_t n>
std::optional<double> of_generation(const std::array<double, n>& values, std::optional<int> gen) {
    if (!gen || *gen < 1 || *gen > static_cast<int>(n)) return {};
    return values[static_cast<std::size_t>(*gen - 1)];
}

}  // namespace

std::optional<double> pcie_ceiling(std::optional<int> gen, std::optional<int> width) {
    constexpr std::array<double, 6> lane{2.5 / 8 * 8 / 10,     5.0 / 8 * 8 / 10,     8.0 / 8 * 128 / 130,
                                         16.0 / 8 * 128 / 130, 32.0 / 8 * 128 / 130, 64.0 / 8 * 236 / 256};
    const std::optional<double> rate = of_generation(lane, gen);
    if (!rate || !width) return {};
    const double payload = *gen <= 2 ? 128 : 256;                  // of GPUs of that time
    const double around = 12 + (*gen < first_with_flits ? 8 : 0);  // three words of header; framing and CRC, flits have their own
    return *rate * *width * payload / (payload + around);
}

std::optional<double> nvlink_ceiling(std::optional<int> gen, int lanes) {
    constexpr std::array<double, 5> lane{20, 25.78125, 25, 25, 50};
    const std::optional<double> rate = of_generation(lane, gen);
    if (!rate || lanes <= 0) return {};
    return *rate * lanes * 16 / (*gen == 4 ? 18 : 17);
}

std::optional<double> memory_ceiling(std::optional<int> kilohertz, std::optional<int> bits) {
    if (!kilohertz || !bits || *kilohertz <= 0 || *bits <= 0) return {};
    constexpr double transfers_a_cycle = 2;
    return transfers_a_cycle * *kilohertz * 1e3 * *bits / 8 / 1e9;
}

std::optional<double> memory_copy_ceiling(std::optional<int> kilohertz, std::optional<int> bits) {
    const std::optional<double> bandwidth = memory_ceiling(kilohertz, bits);
    if (!bandwidth) return {};
    return *bandwidth / 2;
}

std::optional<double> kernel_ceiling(int reads, int writes, std::optional<double> in, std::optional<double> out) {
    if ((reads > 0 && !in) || (writes > 0 && !out) || reads + writes == 0) return {};
    const double arrays = reads + writes;
    const double by_reads = reads > 0 ? *in * arrays / reads : INFINITY;
    const double by_writes = writes > 0 ? *out * arrays / writes : INFINITY;
    return std::min(by_reads, by_writes);
}

}  // namespace nearfar
