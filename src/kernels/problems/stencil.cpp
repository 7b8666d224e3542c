// stencil: passes of nine points over an n × n field, single precision; n is the side. In: the field; out: what they leave. At the
// paper's size a call has a thousand, as SHOC's has for its transfers, else ten.
// The field is a wave that every pass only makes smaller by a factor that is known, so that the answer is known everywhere.
#include <cmath>
#include <utility>

#include "core/error.h"
#include "kernels/problems/own_kernels.h"
#include "kernels/problems/problem.h"

namespace nearfar {
namespace {

constexpr int of_shoc = 1000;         // passes
constexpr int of_others = 10;         // passes: the answer is at the right end after an even number
constexpr double half_waves = 0.316;  // in each direction, of as many as there are points, of one pass: all passes take away 40 %
constexpr double tolerance = 3e-5;    // of the largest value; a pass too few or too many shows ten times as much at least
constexpr double flops_of_a_point = 11;  // 8 additions and 3 products

class Stencil : public Problem {
public:
    explicit Stencil(const ProblemShape& shape) : Problem(shape), wave_(shape.n) {
        for (std::size_t i = 0; i < shape.n; ++i) wave_[i] = std::sin(angle() * static_cast<double>(i + 1));
    }

    void fill(void* in, const Team& team) const override {
        auto* const field = static_cast<float*>(in);
        rows(team, [&](std::size_t row, std::size_t column) {
            field[row * shape().n + column] = static_cast<float>(wave_[row] * wave_[column]);
        });
    }

    Verified verify(const void*, const void* out, const Team& team) const override {
        const auto* const field = static_cast<const float*>(out);
        const std::size_t n = shape().n;
        const double one_way = (1 + std::cos(angle())) / 2;
        const double left = std::pow(one_way * one_way, shape().passes);
        const std::size_t wrong = team.count_if(
            n * n, [&](std::size_t i) { return !(std::abs(field[i] - left * wave_[i / n] * wave_[i % n]) <= tolerance); });
        if (wrong > 0) fail(std::to_string(wrong) + " of " + std::to_string(n * n) + " points are wrong");
        return all_verified();
    }

    void compute_on_host(const void* in, void* out, const Team& team) const override {
        if (shape().passes == of_shoc) throw Prevented("unsupported", shape().text() + " is a thousand passes: it needs a GPU");
        const std::size_t n = shape().n;
        std::vector<float> between(n * n);
        auto* to = between.data();
        auto* next = static_cast<float*>(out);
        const auto* from = static_cast<const float*>(in);
        for (int pass = 0; pass < shape().passes; ++pass) {
            rows(team, [=](std::size_t row, std::size_t column) { to[row * n + column] = nine_points(from, n, row, column); });
            from = to;
            std::swap(to, next);
        }
    }

private:
    std::vector<double> wave_;

    // A whole number of half waves from border to border.
    double angle() const {
        const auto points = static_cast<double>(shape().n + 1);
        return std::round(half_waves / std::sqrt(shape().passes) * points) * M_PI / points;
    }

    template <typename Body>
    void rows(const Team& team, const Body& body) const {
        const std::size_t n = shape().n;
        team.each(
            n * n,
            [&](std::size_t begin, std::size_t end) {
                for (std::size_t i = begin; i < end; ++i) body(i / n, i % n);
            },
            n);
    }
};

}  // namespace

std::unique_ptr<Problem> make_stencil(const std::string& kernel, ProblemSize size) {
    ProblemShape shape{kernel, size};
    shape.n = of_size(size, 4096, 8192, 256);
    shape.passes = size == ProblemSize::paper ? of_shoc : of_others;
    const auto points = static_cast<double>(shape.n * shape.n);
    shape.in_bytes = shape.n * shape.n * sizeof(float);
    shape.out_bytes = shape.in_bytes;
    shape.operations = flops_of_a_point * shape.passes * points;
    shape.counted = shape.operations;
    return std::make_unique<Stencil>(shape);
}

}  // namespace nearfar
