#include "kernels/saxpy/saxpy.h"

#include <algorithm>
#include <cstring>

#include "core/clock.h"
#include "core/joined_threads.h"

namespace nearfar {
namespace {

// Eight values that do not repeat with any power of two, in arithmetic that a compiler does several at once.
std::int32_t mixed(std::size_t i, int owner) {
    const std::uint32_t hash = static_cast<std::uint32_t>(i) * 2654435761U;
    return static_cast<std::int32_t>(((hash >> 16) + static_cast<std::uint32_t>(owner)) & 7U);
}

// 1 to 8: after 2^19 iterations y is below 2^24, up to where single precision holds every whole number.
float x_at(std::size_t i, int owner) { return static_cast<float>(1 + mixed(i, owner)); }
float y_at(std::size_t i, int owner) { return static_cast<float>(mixed(i, owner + 3)); }

}  // namespace

SaxpyVectors::SaxpyVectors(const Node& node, int numa_node, std::size_t bytes, int owner)
    : length_(bytes / sizeof(float)), owner_(owner), memory_(node, numa_node, 2 * bytes, HostPages::ordinary, 1) {
    for (std::size_t i = 0; i < length_; ++i) {
        x()[i] = x_at(i, owner_);
        y()[i] = y_at(i, owner_);
    }
}

std::size_t SaxpyVectors::wrong_after(std::uint64_t iterations) const {
    const auto times = saxpy_a * static_cast<float>(iterations);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < length_; ++i) wrong += y()[i] != y_at(i, owner_) + times * x_at(i, owner_) ? 1 : 0;
    return wrong;
}

void saxpy_on_host(float* y, const float* x, std::size_t length, int threads) {
    const std::size_t share = (length + static_cast<std::size_t>(threads) - 1) / static_cast<std::size_t>(threads);
    const auto part = [=](std::size_t first) {
        const std::size_t last = std::min(length, first + share);
        for (std::size_t i = first; i < last; ++i) y[i] = saxpy_a * x[i] + y[i];
    };
    JoinedThreads others;
    for (std::size_t first = share; first < length; first += share) others.start([=] { part(first); });
    part(0);
}

HostSaxpy::HostSaxpy(const Node& node, int numa_node, std::size_t bytes, int threads)
    : memory_(node, numa_node, 2 * bytes, HostPages::ordinary, 1), threads_(threads) {}

std::shared_ptr<void> HostSaxpy::prepare(const SaxpyVectors&) { return nullptr; }

SaxpyStep HostSaxpy::iterate(const SaxpyVectors& vectors) {
    auto* x = static_cast<float*>(memory_.data());
    float* y = x + vectors.length();
    const double begin = now();
    std::memcpy(x, vectors.x(), vectors.bytes());
    std::memcpy(y, vectors.y(), vectors.bytes());
    const double arrived = now();
    saxpy_on_host(y, x, vectors.length(), threads_);
    const double computed = now();
    std::memcpy(vectors.y(), y, vectors.bytes());
    return {arrived - begin, computed - arrived, now() - computed};
}

}  // namespace nearfar
