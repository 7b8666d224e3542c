// What is said of a figure whose samples were taken in several visits, some time apart. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "core/statistics.h"

namespace nearfar {

// One visit: when its samples were taken, on CLOCK_MONOTONIC, and how many they are.
struct Visit {
    double begin = 0;
    double end = 0;
    std::size_t samples = 0;
};

// Which of its samples show what the path can do.
enum class Best { highest, lowest };  // rates; times

// The samples of all visits together, in their order: the median over all, with an interval over the medians of the visits, because
// samples of one visit resemble each other. Of one visit it is the interval of its samples.
Summary summarise(std::vector<double> samples, const std::vector<Visit>& visits);

// The samples of a figure so far and of one visit more as one, which `visits` counts already.
Summary joined(const Summary& known, const Summary& more, const std::vector<Visit>& visits);

// What the path can do, of two visits or more: benchmarks/studies/estimator.md says why so.
std::optional<Plateau> plateau_of(const Summary& rate, const std::vector<Visit>& visits, Best best = Best::highest);

// Whether the best visit was matched by two others within `within`, relative.
bool is_reached_again(const Plateau& plateau, double within);

}  // namespace nearfar
