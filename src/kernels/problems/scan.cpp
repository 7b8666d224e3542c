// scan: for each of n numbers of 32 bits the sum of those before it, modulo 2^32. In: the numbers; out: the sums.
#include <cstdint>

#include "kernels/problems/problem.h"
#include "kernels/problems/whole_numbers.h"

namespace nearfar {
namespace {

constexpr std::size_t mebi = std::size_t{1} << 20;

class Scan : public Problem {
public:
    using Problem::Problem;

    void fill(void* in, const Team& team) const override { fill_numbers(static_cast<std::uint32_t*>(in), shape().n, team); }

    // The first sum is 0, and each further one is the one before and its number.
    Verified verify(const void* in, const void* out, const Team& team) const override {
        const auto* const numbers = static_cast<const std::uint32_t*>(in);
        const auto* const sums = static_cast<const std::uint32_t*>(out);
        const std::size_t wrong =
            team.count_if(shape().n, [=](std::size_t i) { return sums[i] != (i == 0 ? 0 : sums[i - 1] + numbers[i - 1]); });
        if (wrong > 0) fail(std::to_string(wrong) + " of " + std::to_string(shape().n) + " sums are wrong");
        return all_verified();
    }

    void compute_on_host(const void* in, void* out, const Team&) const override {
        const auto* const numbers = static_cast<const std::uint32_t*>(in);
        auto* const sums = static_cast<std::uint32_t*>(out);
        std::uint32_t sum = 0;
        for (std::size_t i = 0; i < shape().n; ++i) {
            sums[i] = sum;
            sum += numbers[i];
        }
    }
};

}  // namespace

std::unique_ptr<Problem> make_scan(const std::string& kernel, ProblemSize size) {
    ProblemShape shape{kernel, size};
    shape.n = of_size(size, 16 * mebi, 128 * mebi, std::size_t{64} * 1024);
    shape.in_bytes = shape.n * sizeof(std::uint32_t);
    shape.out_bytes = shape.in_bytes;
    shape.operations = static_cast<double>(shape.n);
    shape.counted = static_cast<double>(shape.in_bytes);
    shape.unit = "GB/s";
    return std::make_unique<Scan>(shape);
}

}  // namespace nearfar
