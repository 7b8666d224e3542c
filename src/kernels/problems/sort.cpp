// sort: n pairs of a key and a value, 32 bits each, in ascending order of the keys, equal keys as they came. In: keys, values (each its
// position); out: keys, values.
#include <cstdint>

#include "kernels/problems/problem.h"
#include "kernels/problems/whole_numbers.h"

namespace nearfar {
namespace {

constexpr std::size_t mebi = std::size_t{1} << 20;

class Sort : public Problem {
public:
    using Problem::Problem;

    void fill(void* in, const Team& team) const override {
        auto* const keys = static_cast<std::uint32_t*>(in);
        std::uint32_t* const values = keys + shape().n;
        fill_numbers(keys, shape().n, team);
        team.each(shape().n, [=](std::size_t begin, std::size_t end) {
            for (std::size_t i = begin; i < end; ++i) values[i] = static_cast<std::uint32_t>(i);
        });
    }

    // Each pair is one that there was, and is greater than the one before: then all are different, and none is missing.
    Verified verify(const void* in, const void* out, const Team& team) const override {
        const std::size_t n = shape().n;
        const auto* const keys = static_cast<const std::uint32_t*>(in);
        const auto* const sorted = static_cast<const std::uint32_t*>(out);
        const std::uint32_t* const values = sorted + n;
        const std::size_t wrong = team.count_if(n, [=](std::size_t i) {
            if (values[i] >= n || keys[values[i]] != sorted[i]) return true;
            return i > 0 && (sorted[i - 1] > sorted[i] || (sorted[i - 1] == sorted[i] && values[i - 1] >= values[i]));
        });
        if (wrong > 0) fail(std::to_string(wrong) + " of " + std::to_string(n) + " pairs are wrong or out of order");
        return all_verified();
    }

    void compute_on_host(const void* in, void* out, const Team&) const override {
        sort_pairs(static_cast<const std::uint32_t*>(in), static_cast<std::uint32_t*>(out), shape().n);
    }
};

}  // namespace

std::unique_ptr<Problem> make_sort(const std::string& kernel, ProblemSize size) {
    ProblemShape shape{kernel, size};
    shape.n = of_size(size, 24 * mebi, 64 * mebi, std::size_t{32} * 1024);
    shape.in_bytes = 2 * shape.n * sizeof(std::uint32_t);
    shape.out_bytes = shape.in_bytes;
    shape.counted = static_cast<double>(shape.n);
    shape.unit = "Gkeys/s";
    return std::make_unique<Sort>(shape);
}

}  // namespace nearfar
