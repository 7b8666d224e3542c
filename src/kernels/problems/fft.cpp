// sfft, dfft: n complex Fourier transforms of 512 points each, as SHOC has them. In: the points; out: their transforms, forward.
// Every transform is looked at by a sum with signs r: Σ r X must be Σ x R, with R the transform of r; and some are transformed back.
#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <complex>
#include <type_traits>

#include "kernels/problems/numbers.h"
#include "kernels/problems/problem.h"

namespace nearfar {
namespace {

using Complex = std::complex<double>;
using Points = std::array<Complex, fft_points>;

constexpr std::size_t mebi = std::size_t{1} << 20;
constexpr std::size_t transformed_back = 256;

// In place, by halves; `direction`: -1 forward, 1 back (not divided by the number of points).
void transform(Points& points, double direction) {
    for (std::size_t i = 1, j = 0; i < fft_points; ++i) {
        std::size_t bit = fft_points >> 1;
        for (; (j & bit) != 0; bit >>= 1) j ^= bit;
        j |= bit;
        if (i < j) std::swap(points[i], points[j]);
    }
    for (std::size_t length = 2; length <= fft_points; length *= 2)
        for (std::size_t k = 0; k < length / 2; ++k) {
            const Complex turn = std::polar(1.0, direction * 2 * M_PI * static_cast<double>(k) / static_cast<double>(length));
            for (std::size_t i = k; i < fft_points; i += length) {
                const Complex odd = turn * points[i + length / 2];
                points[i + length / 2] = points[i] - odd;
                points[i] += odd;
            }
        }
}

template <typename T>
class Fft : public Problem {
public:
    explicit Fft(const ProblemShape& shape) : Problem(shape) {
        for (std::size_t k = 0; k < fft_points; ++k) weights_[k] = signs_[k] = sign_value(k);
        transform(weights_, -1);
    }

    void fill(void* in, const Team& team) const override {
        auto* const parts = static_cast<T*>(in);
        team.each(2 * fft_points * shape().n, [=](std::size_t begin, std::size_t end) {
            for (std::size_t i = begin; i < end; ++i) parts[i] = static_cast<T>(unit_value(i));
        });
    }

    Verified verify(const void* in, const void* out, const Team& team) const override {
        const auto* const points = static_cast<const std::complex<T>*>(in);
        const auto* const found = static_cast<const std::complex<T>*>(out);
        const std::size_t n = shape().n;
        const std::size_t wrong =
            count(team, n, 1, [&](std::size_t i) { return is_wrong(points + i * fft_points, found + i * fft_points); });
        if (wrong > 0) fail(std::to_string(wrong) + " of " + std::to_string(n) + " transforms are wrong");
        const std::size_t step = std::max<std::size_t>(1, n / transformed_back);
        const std::size_t other =
            count(team, n, step, [&](std::size_t i) { return differs_back(points + i * fft_points, found + i * fft_points); });
        if (other > 0) fail(std::to_string(other) + " of " + std::to_string(n / step) + " transforms do not lead back");
        return all_verified();
    }

private:
    Points signs_;
    Points weights_;  // their transform

    template <typename Is>
    static std::size_t count(const Team& team, std::size_t n, std::size_t step, const Is& is_so) {
        std::atomic<std::size_t> found{0};
        team.each(
            n / step * fft_points,
            [&](std::size_t begin, std::size_t end) {
                for (std::size_t i = begin / fft_points; i < end / fft_points; ++i)
                    if (is_so(i * step)) ++found;
            },
            fft_points);
        return found;
    }

    static double rounding() { return std::is_same<T, double>::value ? 0x1p-53 : 0x1p-24; }

    bool is_wrong(const std::complex<T>* points, const std::complex<T>* found) const {
        double real = 0;
        double imaginary = 0;
        for (std::size_t k = 0; k < fft_points; ++k) {
            const double x = points[k].real();
            const double y = points[k].imag();
            real += signs_[k].real() * found[k].real() - (x * weights_[k].real() - y * weights_[k].imag());
            imaginary += signs_[k].real() * found[k].imag() - (x * weights_[k].imag() + y * weights_[k].real());
        }
        const double most = rounding() * fft_points * 64;
        return !(std::abs(real) <= most && std::abs(imaginary) <= most);
    }

    bool differs_back(const std::complex<T>* points, const std::complex<T>* found) const {
        Points back;
        for (std::size_t k = 0; k < fft_points; ++k) back[k] = {found[k].real(), found[k].imag()};
        transform(back, 1);
        for (std::size_t k = 0; k < fft_points; ++k) {
            const Complex was{points[k].real(), points[k].imag()};
            if (!(std::abs(back[k] / static_cast<double>(fft_points) - was) <= rounding() * 64)) return true;
        }
        return false;
    }
};

}  // namespace

std::unique_ptr<Problem> make_fft(const std::string& kernel, ProblemSize size) {
    constexpr double flops_a_level = 5;  // of a point, as everybody counts
    constexpr double levels = 9;
    ProblemShape shape{kernel, size};
    const bool is_double = kernel == "dfft";
    const std::size_t point = 2 * (is_double ? sizeof(double) : sizeof(float));
    shape.in_bytes = of_size(size, 256 * mebi, 512 * mebi, mebi / 4);
    shape.out_bytes = shape.in_bytes;
    shape.n = shape.in_bytes / point / fft_points;
    shape.operations = flops_a_level * levels * static_cast<double>(shape.n * fft_points);
    shape.counted = shape.operations;
    if (is_double) return std::make_unique<Fft<double>>(shape);
    return std::make_unique<Fft<float>>(shape);
}

}  // namespace nearfar
