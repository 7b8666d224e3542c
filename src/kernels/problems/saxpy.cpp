#include "kernels/problems/saxpy.h"

#include "core/error.h"

namespace nearfar {
namespace {

// Eight values that do not repeat with any power of two, in arithmetic that a compiler does several at once.
std::int32_t mixed(std::size_t i, int owner) {
    const std::uint32_t hash = static_cast<std::uint32_t>(i) * 2654435761U;
    return static_cast<std::int32_t>(((hash >> 16) + static_cast<std::uint32_t>(owner)) & 7U);
}

// 1 to 8: after most_exact_iterations y is below 2^24, up to where single precision holds every whole number.
float x_at(std::size_t i, int owner) { return static_cast<float>(1 + mixed(i, owner)); }
float y_at(std::size_t i, int owner) { return static_cast<float>(mixed(i, owner + 3)); }

ProblemShape shape_of(std::size_t bytes) {
    ProblemShape shape{"saxpy"};
    shape.n = bytes / sizeof(float);
    shape.in_bytes = 2 * bytes;
    shape.out_bytes = bytes;
    shape.repeats = false;
    shape.in_place = true;
    return shape;
}

}  // namespace

Saxpy::Saxpy(std::size_t bytes, int owner) : Problem(shape_of(bytes)), owner_(owner) {}

void Saxpy::fill(void* in, const Team& team) const {
    auto* const x = static_cast<float*>(in);
    team.each(shape().n, [=](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
            x[i] = x_at(i, owner_);
            x[shape().n + i] = y_at(i, owner_);
        }
    });
}

Verified Saxpy::verify(const void*, const void* out, const Team& team) const {
    const auto* const y = static_cast<const float*>(out);
    const auto times = saxpy_a * static_cast<float>(iterations_);
    const std::size_t wrong =
        team.count_if(shape().n, [=](std::size_t i) { return y[i] != y_at(i, owner_) + times * x_at(i, owner_); });
    if (wrong > 0)
        throw Failure("wrong_data", std::to_string(wrong) + " of " + std::to_string(shape().n) + " answers are wrong after " +
                                        std::to_string(iterations_) + " iterations");
    return all_verified();
}

void Saxpy::compute_on_host(const void* in, void* out, const Team& team) const {
    const auto* const x = static_cast<const float*>(in);
    auto* const y = static_cast<float*>(out);
    team.each(shape().n, [=, n = shape().n](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) y[i] = saxpy_of(x[i], x[n + i]);
    });
}

}  // namespace nearfar
