// triad: c = a + 3 b, single precision. In: a, b; out: c; n elements each. Whole numbers, so that every answer is exact.
#include "kernels/problems/own_kernels.h"
#include "kernels/problems/problem.h"
#include "kernels/stream/stream_values.h"

namespace nearfar {
namespace {

constexpr std::size_t mebi = std::size_t{1} << 20;

class Triad : public Problem {
public:
    using Problem::Problem;

    void fill(void* in, const Team& team) const override {
        auto* const a = static_cast<float*>(in);
        float* const b = a + shape().n;
        team.each(shape().n, [=](std::size_t begin, std::size_t end) {
            for (std::size_t i = begin; i < end; ++i) {
                a[i] = static_cast<float>(value_of_a(i));
                b[i] = static_cast<float>(value_of_b(i));
            }
        });
    }

    Verified verify(const void*, const void* out, const Team& team) const override {
        const auto* const c = static_cast<const float*>(out);
        const std::size_t wrong = team.count_if(shape().n, [=](std::size_t i) {
            return c[i] != static_cast<float>(value_of_a(i) + gpu_stream_scalar * value_of_b(i));
        });
        if (wrong > 0) fail(std::to_string(wrong) + " of " + std::to_string(shape().n) + " elements are wrong");
        return all_verified();
    }

    void compute_on_host(const void* in, void* out, const Team& team) const override {
        const auto* const a = static_cast<const float*>(in);
        const float* const b = a + shape().n;
        auto* const c = static_cast<float*>(out);
        team.each(shape().n, [=](std::size_t begin, std::size_t end) {
            for (std::size_t i = begin; i < end; ++i) c[i] = triad_of(a[i], b[i]);
        });
    }
};

}  // namespace

std::unique_ptr<Problem> make_triad(const std::string& kernel, ProblemSize size) {
    ProblemShape shape{kernel, size};
    shape.n = of_size(size, 4 * mebi, 64 * mebi, std::size_t{64} * 1024);
    shape.in_bytes = 2 * shape.n * sizeof(float);
    shape.out_bytes = shape.n * sizeof(float);
    shape.operations = 2.0 * static_cast<double>(shape.n);
    shape.counted = 3.0 * sizeof(float) * static_cast<double>(shape.n);
    shape.unit = "GB/s";
    return std::make_unique<Triad>(shape);
}

}  // namespace nearfar
