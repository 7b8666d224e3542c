// sgemm, dgemm, bf16gemm: C = A B of n × n matrices, column by column. In: A, B; out: C (of bf16gemm in single precision).
// Looked at by Freivalds' method: for a vector x of ±1, C x must be A (B x), which takes n² steps in the place of n³.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <type_traits>

#include "kernels/problems/numbers.h"
#include "kernels/problems/problem.h"
#include "kernels/problems/tensor_modes.h"

namespace nearfar {
namespace {

struct Bf16 {
    std::uint16_t bits;
};

double number(float value) { return value; }
double number(double value) { return value; }
double number(Bf16 value) {
    const std::uint32_t bits = static_cast<std::uint32_t>(value.bits) << 16;
    float single = 0;
    std::memcpy(&single, &bits, sizeof single);
    return single;
}

void set(float& to, double value) { to = static_cast<float>(value); }
void set(double& to, double value) { to = value; }
void set(Bf16& to, double value) {  // the rest is cut off
    const auto single = static_cast<float>(value);
    std::uint32_t bits = 0;
    std::memcpy(&bits, &single, sizeof bits);
    to.bits = static_cast<std::uint16_t>(bits >> 16);
}

// How far a product may be off, relative.
template <typename In>
double unit_of_rounding() {
    constexpr double of_double = 0x1p-53;
    constexpr double of_single = 0x1p-24;
    constexpr double of_tensor_cores = 0x1p-20;  // bf16: they cut sums off
    constexpr double of_tf32 = 0x1p-11;
    if (std::is_same<In, double>::value) return of_double;
    if (std::is_same<In, Bf16>::value) return of_tensor_cores;
    return tensor_modes().empty() ? of_single : of_tf32;
}

// Below this, what is wrong is rounding: of a sum of n elements of C with random signs, each a sum of n products of numbers whose mean
// square is 1/12, 16 times over.
template <typename In>
double tolerance(std::size_t n) {
    const auto size = static_cast<double>(n);
    return 16 * unit_of_rounding<In>() * size * std::sqrt(size) / 12;
}

// The matrix times a vector.
template <typename T>
std::vector<double> times(const T* matrix, const std::vector<double>& vector, const Team& team) {
    const std::size_t n = vector.size();
    std::vector<double> product(n, 0);
    team.each(
        n * n,
        [&](std::size_t begin, std::size_t end) {  // rows, each of which has n elements
            for (std::size_t column = 0; column < n; ++column)
                for (std::size_t row = begin / n; row < end / n; ++row)
                    product[row] += number(matrix[column * n + row]) * vector[column];
        },
        n);
    return product;
}

template <typename In, typename Out>
class Gemm : public Problem {
public:
    using Problem::Problem;

    void fill(void* in, const Team& team) const override {
        auto* const both = static_cast<In*>(in);
        team.each(2 * shape().n * shape().n, [=](std::size_t begin, std::size_t end) {
            for (std::size_t i = begin; i < end; ++i) set(both[i], unit_value(i));
        });
    }

    Verified verify(const void* in, const void* out, const Team& team) const override {
        const std::size_t n = shape().n;
        const auto* const a = static_cast<const In*>(in);
        std::vector<double> signs(n);
        for (std::size_t i = 0; i < n; ++i) signs[i] = sign_value(i);
        const std::vector<double> right = times(a, times(a + n * n, signs, team), team);
        const std::vector<double> found = times(static_cast<const Out*>(out), signs, team);
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < n; ++i) wrong += std::abs(found[i] - right[i]) <= tolerance<In>(n) ? 0 : 1;
        if (wrong > 0)
            fail(std::to_string(wrong) + " of " + std::to_string(n) + " rows are not those of the product (Freivalds)");
        return all_verified();
    }
};

}  // namespace

std::unique_ptr<Problem> make_gemm(const std::string& kernel, ProblemSize size) {
    ProblemShape shape{kernel, size};
    const bool is_double = kernel == "dgemm";
    const bool is_bf16 = kernel == "bf16gemm";
    shape.n = is_double ? of_size(size, 2048, 6144, 128) : of_size(size, 4096, 8192, 128);
    const std::size_t elements = shape.n * shape.n;
    shape.in_bytes = 2 * elements * (is_double ? sizeof(double) : is_bf16 ? sizeof(Bf16) : sizeof(float));
    shape.out_bytes = elements * (is_double ? sizeof(double) : sizeof(float));
    shape.operations = 2 * std::pow(static_cast<double>(shape.n), 3);
    shape.counted = shape.operations;
    if (is_double) return std::make_unique<Gemm<double, double>>(shape);
    if (is_bf16) return std::make_unique<Gemm<Bf16, float>>(shape);
    return std::make_unique<Gemm<float, float>>(shape);
}

}  // namespace nearfar
