// spmv: y = A x with a sparse n × n matrix, 1 % of it not nought as SHOC has it, single precision. In: see spmv.h; out: y. Whole numbers so
// small that every answer is exact.
#include "kernels/problems/spmv.h"

#include <atomic>

#include "kernels/problems/numbers.h"
#include "kernels/problems/problem.h"

namespace nearfar {
namespace {

class Spmv : public Problem {
public:
    using Problem::Problem;

    void fill(void* in, const Team& team) const override {
        const std::size_t n = shape().n;
        const SpmvOperands to(in, n);
        for (std::size_t row = 0; row < n; ++row) to.x[row] = static_cast<float>(mixed(row) % 16);
        for (std::size_t row = 0; row <= n; ++row) to.offsets[row] = static_cast<std::int32_t>(row * to.a_row);
        team.each(to.elements, [&](std::size_t begin, std::size_t end) {
            for (std::size_t i = begin; i < end; ++i) {
                const std::uint64_t bits = mixed(n + i);
                to.values[i] = static_cast<float>(bits % 8 + 1);
                to.columns[i] = static_cast<std::int32_t>(i % to.a_row * spmv_thinness + (bits >> 8) % spmv_thinness);
            }
        });
    }

    Verified verify(const void* in, const void* out, const Team& team) const override {
        const std::size_t n = shape().n;
        const SpmvOperands of(const_cast<void*>(in), n);
        const auto* const y = static_cast<const float*>(out);
        std::atomic<std::size_t> wrong{0};
        team.each(
            of.elements,
            [&](std::size_t begin, std::size_t end) {
                for (std::size_t row = begin / of.a_row; row < end / of.a_row; ++row) {
                    float sum = 0;
                    for (std::size_t i = row * of.a_row; i < (row + 1) * of.a_row; ++i) sum += of.values[i] * of.x[of.columns[i]];
                    if (sum != y[row]) ++wrong;
                }
            },
            of.a_row);
        if (wrong > 0) fail(std::to_string(wrong) + " of " + std::to_string(n) + " rows are wrong");
        return all_verified();
    }
};

}  // namespace

std::unique_ptr<Problem> make_spmv(const std::string& kernel, ProblemSize size) {
    ProblemShape shape{kernel, size};
    shape.n = of_size(size, 16384, 81920, 2048);
    shape.in_bytes = SpmvOperands::bytes(shape.n);
    shape.out_bytes = shape.n * sizeof(float);
    const std::size_t entries_of_row = shape.n / spmv_thinness;
    shape.operations = 2 * static_cast<double>(shape.n * entries_of_row);
    shape.repeats = false;  // cuSPARSE does not say so of its default way
    shape.counted = shape.operations;
    return std::make_unique<Spmv>(shape);
}

}  // namespace nearfar
