// sgemm, dgemm, bf16gemm, column by column. In: A, B; out: C (of bf16gemm in single precision).
#include "kernels/problems/gemm.h"

#include <unistd.h>

#include <cmath>
#include <cstdlib>

#include "core/error.h"

namespace nearfar {
namespace {

constexpr std::uint64_t heaviest = 127;

// How far a product may be off, relative.
double unit_of_rounding(const std::string& kernel) {
    constexpr double of_double = 0x1p-53;
    constexpr double of_single = 0x1p-24;
    constexpr double of_tensor_cores = 0x1p-20;  // bf16: they cut sums off
    constexpr double of_tf32 = 0x1p-11;
    if (kernel == "dgemm") return of_double;
    if (kernel == "bf16gemm") return of_tensor_cores;
    return tensor_modes().empty() ? of_single : of_tf32;
}

// Below this, what is wrong is rounding: of a sum of n elements of C with random signs, each a sum of n products of numbers whose mean
// square is 1/12, 16 times over.
double tolerance(const ProblemShape& shape) {
    const auto size = static_cast<double>(shape.n);
    return 16 * unit_of_rounding(shape.kernel) * size * std::sqrt(size) / 12;
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
            for (std::size_t i = begin; i < end; ++i) set(both[i], operand(Operands::fractions, i));
        });
    }

    Verified verify(const void* in, const void* out, const Team& team) const override {
        const std::size_t n = shape().n;
        const auto* const a = static_cast<const In*>(in);
        const std::vector<double> weights = product_weights(Operands::fractions, n);
        require_product(shape(), Operands::fractions, times(static_cast<const Out*>(out), weights, team),
                        times(a, times(a + n * n, weights, team), team));
        return all_verified();
    }
};

}  // namespace

bool ProblemShape::is_product() const { return kernel == "sgemm" || kernel == "dgemm" || kernel == "bf16gemm"; }

std::map<std::string, std::string> tensor_modes() {
    std::map<std::string, std::string> found;
    for (char** each = environ; each != nullptr && *each != nullptr; ++each) {
        const std::string text = *each;
        const std::size_t equals = text.find('=');
        const std::string name = text.substr(0, equals);
        if (equals != std::string::npos && (name == "NVIDIA_TF32_OVERRIDE" || name.rfind("CUBLAS_", 0) == 0))
            found[name] = text.substr(equals + 1);
    }
    return found;
}

std::vector<double> product_weights(Operands operands, std::size_t n) {
    std::vector<double> weights(n);
    for (std::size_t i = 0; i < n; ++i)
        weights[i] = operands == Operands::whole ? 2 * whole_value(i, heaviest) + 1 : sign_value(i);  // none is 0
    return weights;
}

void require_product(const ProblemShape& shape, Operands operands, const std::vector<double>& found,
                     const std::vector<double>& right) {
    const double most = operands == Operands::whole ? 0 : tolerance(shape);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < shape.n; ++i) wrong += std::abs(found[i] - right[i]) <= most ? 0 : 1;
    if (wrong > 0)
        throw Failure("wrong_data", shape.text() + ": " + std::to_string(wrong) + " of " + std::to_string(shape.n) +
                                        " rows are not those of the product" +
                                        (operands == Operands::whole ? ", which is exact" : " (Freivalds)"));
}

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
