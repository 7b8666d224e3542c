// What is said of a set of samples: the median with its interval, and when there are enough of them.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

namespace nearfar {

// What a path can do, beside what it did.
struct Plateau {
    double value = 0;
    double low = 0;  // its interval
    double high = 0;
    double steadiness = 0;  // median over plateau; of times plateau over median
    double behind = 0;      // how far the third best visit (of two the other one) is from the best, relative
};

struct Summary {
    double median = 0;
    double mad = 0;  // median absolute deviation from the median, unscaled
    double low = 0;  // interval of the median
    double high = 0;
    double min = 0;
    double max = 0;
    std::vector<double> samples;     // in the order in which they were taken
    std::optional<Plateau> plateau;  // of what was taken in several visits, and has one
    std::size_t n() const { return samples.size(); }
    // Half the width of the interval over the median.
    double half_width() const;
};

// The numbers of rounds at which ranks may stop: at each the interval of order statistics covers at least 95 %.
extern const std::vector<std::size_t> looks;

// Of n values in ascending order, the one at a quantile from 0 to 1, interpolated.
double quantile(const std::vector<double>& sorted, double at);

// The positions, from 0, of the two order statistics that hold the median of n >= 6 samples with at least 95 %.
std::pair<std::size_t, std::size_t> median_interval(std::size_t n);

// Needs at least one sample; below six the interval is the range.
Summary summarise(std::vector<double> samples);

}  // namespace nearfar
