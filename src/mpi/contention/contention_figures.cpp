#include "mpi/contention/contention_figures.h"

#include <algorithm>
#include <cmath>

namespace nearfar {
namespace {

double nearest_rank(std::vector<float>& values, double share) {
    const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(values.size())));
    const auto at = values.begin() + static_cast<std::ptrdiff_t>(std::max<std::size_t>(rank, 1) - 1);
    std::nth_element(values.begin(), at, values.end());
    return static_cast<double>(*at);
}

std::optional<Summary> summary_of(std::vector<double> samples) {
    if (samples.empty()) return {};
    return summarise(std::move(samples));
}

}  // namespace

Percentiles percentiles_of(std::vector<float>& values) {
    if (values.empty()) return {};
    Percentiles found;
    found.n = values.size();
    found.p50 = nearest_rank(values, 0.50);
    found.p95 = nearest_rank(values, 0.95);
    found.p99 = nearest_rank(values, 0.99);
    found.max = static_cast<double>(*std::max_element(values.begin(), values.end()));
    return found;
}

std::optional<Summary> latency_penalty(const std::vector<double>& contended, const std::vector<double>& solo) {
    std::vector<double> samples;
    for (std::size_t i = 0; i < std::min(contended.size(), solo.size()); ++i)
        if (contended[i] > 0 && solo[i] > 0) samples.push_back(contended[i] / solo[i] - 1);
    return summary_of(std::move(samples));
}

std::optional<Summary> bandwidth_penalty(const std::vector<double>& rates, const std::vector<double>& solo) {
    std::vector<double> samples;
    for (std::size_t i = 0; i < std::min(rates.size(), solo.size()); ++i)
        if (solo[i] > 0) samples.push_back(1 - rates[i] / solo[i]);
    return summary_of(std::move(samples));
}

bool is_narrow(const Summary& penalty, double half_width) {
    return penalty.n() >= looks.front() && (penalty.high - penalty.low) / 2 <= half_width;
}

}  // namespace nearfar
