#include "node/pcie.h"

#include <array>

namespace nearfar {

std::optional<double> pcie_ceiling(std::optional<int> gen, std::optional<int> width, bool to_gpu) {
    constexpr std::array<double, 6> lane{
        0.25, 0.5, 8.0 / 8 * 128 / 130, 16.0 / 8 * 128 / 130, 32.0 / 8 * 128 / 130, 64.0 / 8 * 242 / 256};
    constexpr double payload = 256;
    if (!gen || !width || *gen < 1 || *gen > static_cast<int>(lane.size())) return {};
    const double header = to_gpu ? 20 : 24;
    return lane[static_cast<std::size_t>(*gen - 1)] * *width * payload / (payload + header);
}

}  // namespace nearfar
