#include "core/visits.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace nearfar {
namespace {

constexpr double upper = 0.9;               // of the samples of all visits: what the path can do
constexpr double upper_of_visit = 2.0 / 3;  // of four samples the second highest: a wild one says nothing
constexpr double least_half_width = 0.002;  // of an interval, relative
constexpr std::size_t times_reached = 3;    // visits on one level, which are then taken for the path's

// Of each visit the value at a quantile of its samples, ascending.
std::vector<double> levels(const std::vector<double>& samples, const std::vector<Visit>& visits, double at) {
    std::vector<double> found;
    auto first = samples.begin();
    for (const Visit& visit : visits) {
        const auto end = first + static_cast<std::ptrdiff_t>(visit.samples);
        std::vector<double> sorted(first, end);
        std::sort(sorted.begin(), sorted.end());
        if (!sorted.empty()) found.push_back(quantile(sorted, at));
        first = end;
    }
    std::sort(found.begin(), found.end());
    return found;
}

// Student's factor of a two-sided interval of 95 % with so many degrees of freedom.
double student(std::size_t degrees) {
    static constexpr std::array<double, 10> factors{12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23};
    return degrees <= factors.size() ? factors[degrees - 1] : 2.2;
}

double spread(const std::vector<double>& values) {
    const double n = static_cast<double>(values.size());
    const double mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
    double squares = 0;
    for (const double value : values) squares += (value - mean) * (value - mean);
    return std::sqrt(squares);
}

double quantile_of(std::vector<double> samples, double at) {
    std::sort(samples.begin(), samples.end());
    return quantile(samples, at);
}

// What the path can do: a high quantile of all samples, of times a low one; of few the second best at most, as one may be wild.
double plateau_value(const std::vector<double>& samples, Best best) {
    const double second = samples.size() > 2 ? 1 - 1 / static_cast<double>(samples.size() - 1) : upper;
    const double at = std::min(upper, second);
    return quantile_of(samples, best == Best::highest ? at : 1 - at);
}

// The standard error of a plateau: from the same without one visit at a time.
double jackknife(const std::vector<double>& samples, const std::vector<Visit>& visits, Best best) {
    std::vector<double> estimates;
    auto first = samples.begin();
    for (const Visit& visit : visits) {
        const auto end = first + static_cast<std::ptrdiff_t>(visit.samples);
        std::vector<double> others(samples.begin(), first);
        others.insert(others.end(), end, samples.end());
        if (!others.empty()) estimates.push_back(plateau_value(others, best));
        first = end;
    }
    const double n = static_cast<double>(estimates.size());
    return std::sqrt((n - 1) / n) * spread(estimates);
}

}  // namespace

Summary summarise(std::vector<double> samples, const std::vector<Visit>& visits) {
    Summary summary = summarise(std::move(samples));
    const std::vector<double> medians = levels(summary.samples, visits, 0.5);
    if (medians.size() < 2) return summary;
    const double n = static_cast<double>(medians.size());
    const double error = spread(medians) / std::sqrt((n - 1) * n);
    const double half = std::max(student(medians.size() - 1) * error, least_half_width * summary.median);
    summary.low = std::max(summary.median - half, 0.0);
    summary.high = summary.median + half;
    return summary;
}

Summary joined(const Summary& known, const Summary& more, const std::vector<Visit>& visits) {
    std::vector<double> samples = known.samples;
    samples.insert(samples.end(), more.samples.begin(), more.samples.end());
    return summarise(std::move(samples), visits);
}

std::optional<Plateau> plateau_of(const Summary& rate, const std::vector<Visit>& visits, Best best) {
    const bool highest = best == Best::highest;
    std::vector<double> reached = levels(rate.samples, visits, highest ? upper_of_visit : 1 - upper_of_visit);
    if (reached.size() < 2) return {};
    if (highest) std::reverse(reached.begin(), reached.end());  // the best first
    Plateau plateau;
    plateau.value = plateau_value(rate.samples, best);
    if (plateau.value <= 0) return {};  // of differences of times, disturbed more than they are long
    const double between = std::abs(reached[0] - reached[reached.size() / 2]);
    const double half = std::max(
        {student(reached.size() - 1) * jackknife(rate.samples, visits, best), between, least_half_width * plateau.value});
    plateau.low = std::max(plateau.value - half, 0.0);
    plateau.high = plateau.value + half;
    plateau.steadiness = highest ? rate.median / plateau.value : plateau.value / rate.median;
    const double third = reached[std::min(times_reached, reached.size()) - 1];
    plateau.behind = highest ? 1 - third / reached[0] : third / reached[0] - 1;
    return plateau;
}

bool is_reached_again(const Plateau& plateau, double within) { return plateau.behind <= within; }

}  // namespace nearfar
