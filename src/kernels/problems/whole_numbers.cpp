// Of n numbers of 32 bits, so that every answer is exact: reduction (their sum, modulo 2^32), scan (for each the sum of those before it) and
// sort (n pairs of a key and a value, each its position, in ascending order of the keys, equal keys as they came; in and out: keys, then
// values).
#include "kernels/problems/whole_numbers.h"

#include <algorithm>
#include <atomic>
#include <numeric>
#include <vector>

#include "kernels/problems/numbers.h"
#include "kernels/problems/problem.h"

namespace nearfar {
namespace {

using Number = std::uint32_t;

constexpr std::size_t mebi = std::size_t{1} << 20;

class Reduction : public Problem {
public:
    using Problem::Problem;

    void fill(void* in, const Team& team) const override { fill_numbers(static_cast<Number*>(in), shape().n, team); }

    Verified verify(const void* in, const void* out, const Team& team) const override {
        Number right = 0;
        compute_on_host(in, &right, team);
        const Number sum = *static_cast<const Number*>(out);
        if (sum != right) fail("the sum is " + std::to_string(sum) + ", not " + std::to_string(right));
        return {shape().in_bytes, 0, 0};
    }

    void compute_on_host(const void* in, void* out, const Team& team) const override {
        const auto* const numbers = static_cast<const Number*>(in);
        std::atomic<Number> sum{0};
        team.each(shape().n, [&sum, numbers](std::size_t begin, std::size_t end) {
            sum += std::accumulate(numbers + begin, numbers + end, Number{0});
        });
        *static_cast<Number*>(out) = sum;
    }
};

class Scan : public Problem {
public:
    using Problem::Problem;

    void fill(void* in, const Team& team) const override { fill_numbers(static_cast<Number*>(in), shape().n, team); }

    // The first sum is 0, and each further one is the one before and its number.
    Verified verify(const void* in, const void* out, const Team& team) const override {
        const auto* const numbers = static_cast<const Number*>(in);
        const auto* const sums = static_cast<const Number*>(out);
        const std::size_t wrong =
            team.count_if(shape().n, [=](std::size_t i) { return sums[i] != (i == 0 ? 0 : sums[i - 1] + numbers[i - 1]); });
        if (wrong > 0) fail(std::to_string(wrong) + " of " + std::to_string(shape().n) + " sums are wrong");
        return all_verified();
    }

    void compute_on_host(const void* in, void* out, const Team&) const override {
        const auto* const numbers = static_cast<const Number*>(in);
        std::exclusive_scan(numbers, numbers + shape().n, static_cast<Number*>(out), Number{0});
    }
};

class Sort : public Problem {
public:
    using Problem::Problem;

    void fill(void* in, const Team& team) const override {
        auto* const keys = static_cast<Number*>(in);
        Number* const values = keys + shape().n;
        fill_numbers(keys, shape().n, team);
        std::iota(values, values + shape().n, Number{0});
    }

    // Each pair is one that there was, and is greater than the one before: then all are different, and none is missing.
    Verified verify(const void* in, const void* out, const Team& team) const override {
        const std::size_t n = shape().n;
        const auto* const keys = static_cast<const Number*>(in);
        const auto* const sorted = static_cast<const Number*>(out);
        const Number* const values = sorted + n;
        const std::size_t wrong = team.count_if(n, [=](std::size_t i) {
            if (values[i] >= n || keys[values[i]] != sorted[i]) return true;
            return i > 0 && (sorted[i - 1] > sorted[i] || (sorted[i - 1] == sorted[i] && values[i - 1] >= values[i]));
        });
        if (wrong > 0) fail(std::to_string(wrong) + " of " + std::to_string(n) + " pairs are wrong or out of order");
        return all_verified();
    }

    void compute_on_host(const void* in, void* out, const Team&) const override {
        sort_pairs(static_cast<const Number*>(in), static_cast<Number*>(out), shape().n);
    }
};

ProblemShape shape_of(const std::string& kernel, ProblemSize size, std::size_t n) {
    ProblemShape shape{kernel, size};
    shape.n = n;
    shape.in_bytes = n * sizeof(Number);
    shape.out_bytes = shape.in_bytes;
    shape.operations = static_cast<double>(n);
    shape.counted = static_cast<double>(shape.in_bytes);
    shape.unit = "GB/s";
    return shape;
}

}  // namespace

void fill_numbers(Number* numbers, std::size_t n, const Team& team) {
    team.each(n, [=](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) numbers[i] = static_cast<Number>(mixed(i));
    });
}

void sort_pairs(const Number* in, Number* out, std::size_t n) {
    std::vector<Number> order(n);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [=](Number a, Number b) { return in[a] < in[b]; });
    for (std::size_t i = 0; i < n; ++i) {
        out[i] = in[order[i]];
        out[n + i] = in[n + order[i]];
    }
}

std::unique_ptr<Problem> make_reduction(const std::string& kernel, ProblemSize size) {
    ProblemShape shape = shape_of(kernel, size, of_size(size, 16 * mebi, 128 * mebi, std::size_t{64} * 1024));
    shape.out_bytes = sizeof(Number);
    return std::make_unique<Reduction>(shape);
}

std::unique_ptr<Problem> make_scan(const std::string& kernel, ProblemSize size) {
    return std::make_unique<Scan>(shape_of(kernel, size, of_size(size, 16 * mebi, 128 * mebi, std::size_t{64} * 1024)));
}

std::unique_ptr<Problem> make_sort(const std::string& kernel, ProblemSize size) {
    ProblemShape shape = shape_of(kernel, size, of_size(size, 24 * mebi, 64 * mebi, std::size_t{32} * 1024));
    shape.in_bytes = 2 * shape.n * sizeof(Number);
    shape.out_bytes = shape.in_bytes;
    shape.operations = 0;
    shape.counted = static_cast<double>(shape.n);
    shape.unit = "Gkeys/s";
    return std::make_unique<Sort>(shape);
}

}  // namespace nearfar
