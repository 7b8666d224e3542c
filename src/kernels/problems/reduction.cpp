// reduction: the sum of n numbers of 32 bits, modulo 2^32, so that it is exact in any order. In: the numbers; out: the sum.
#include <atomic>
#include <cstdint>

#include "kernels/problems/problem.h"
#include "kernels/problems/whole_numbers.h"

namespace nearfar {
namespace {

constexpr std::size_t mebi = std::size_t{1} << 20;

class Reduction : public Problem {
public:
    using Problem::Problem;

    void fill(void* in, const Team& team) const override { fill_numbers(static_cast<std::uint32_t*>(in), shape().n, team); }

    Verified verify(const void* in, const void* out, const Team& team) const override {
        std::uint32_t right = 0;
        compute_on_host(in, &right, team);
        const std::uint32_t sum = *static_cast<const std::uint32_t*>(out);
        if (sum != right) fail("the sum is " + std::to_string(sum) + ", not " + std::to_string(right));
        return {shape().in_bytes, 0, 0};
    }

    void compute_on_host(const void* in, void* out, const Team& team) const override {
        const auto* const numbers = static_cast<const std::uint32_t*>(in);
        std::atomic<std::uint32_t> sum{0};
        team.each(shape().n, [&sum, numbers](std::size_t begin, std::size_t end) {
            std::uint32_t mine = 0;
            for (std::size_t i = begin; i < end; ++i) mine += numbers[i];
            sum += mine;
        });
        *static_cast<std::uint32_t*>(out) = sum;
    }
};

}  // namespace

std::unique_ptr<Problem> make_reduction(const std::string& kernel, ProblemSize size) {
    ProblemShape shape{kernel, size};
    shape.n = of_size(size, 16 * mebi, 128 * mebi, std::size_t{64} * 1024);
    shape.in_bytes = shape.n * sizeof(std::uint32_t);
    shape.out_bytes = sizeof(std::uint32_t);
    shape.operations = static_cast<double>(shape.n);
    shape.counted = static_cast<double>(shape.in_bytes);
    shape.unit = "GB/s";
    return std::make_unique<Reduction>(shape);
}

}  // namespace nearfar
