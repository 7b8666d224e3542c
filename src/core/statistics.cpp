#include "core/statistics.h"

#include <algorithm>
#include <cmath>

namespace nearfar {
namespace {

constexpr std::size_t many = 500;  // half to this power is a number still

double median_of_sorted(const std::vector<double>& sorted) {
    const std::size_t n = sorted.size();
    return n % 2 == 1 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

}  // namespace

const std::vector<std::size_t> looks{6, 9, 14, 21, 31};

double Summary::half_width() const { return median > 0 ? (high - low) / 2 / median : 0; }

std::pair<std::size_t, std::size_t> median_interval(std::size_t n) {
    // Each sample is below the median with one half: P(fewer than k + 1 below) is a binomial tail, of many nearly a normal one.
    if (n > many) {
        const double count = static_cast<double>(n);
        const auto below = static_cast<std::size_t>((count - 1.96 * std::sqrt(count)) / 2 - 1);
        return {below, n - 1 - below};
    }
    double term = std::pow(0.5, static_cast<double>(n));
    double tail = term;
    std::size_t k = 0;
    while (true) {
        term *= static_cast<double>(n - k) / static_cast<double>(k + 1);
        if (2 * (tail + term) > 0.05) break;
        tail += term;
        ++k;
    }
    return {k, n - 1 - k};
}

double quantile(const std::vector<double>& sorted, double at) {
    const double place = at * static_cast<double>(sorted.size() - 1);
    const auto below = static_cast<std::size_t>(place);
    const std::size_t above = std::min(below + 1, sorted.size() - 1);
    return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

Summary summarise(std::vector<double> samples) {
    Summary summary;
    summary.samples = std::move(samples);
    std::vector<double> sorted = summary.samples;
    std::sort(sorted.begin(), sorted.end());
    summary.median = median_of_sorted(sorted);
    summary.min = sorted.front();
    summary.max = sorted.back();
    const auto [low, high] = sorted.size() >= 6 ? median_interval(sorted.size()) : std::pair{std::size_t{0}, sorted.size() - 1};
    summary.low = sorted[low];
    summary.high = sorted[high];
    for (double& value : sorted) value = std::abs(value - summary.median);
    std::sort(sorted.begin(), sorted.end());
    summary.mad = median_of_sorted(sorted);
    return summary;
}

}  // namespace nearfar
