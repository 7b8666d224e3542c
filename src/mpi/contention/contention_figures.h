// What contention costs, from rounds in which the same tasks ran alone and together. Pure.
#pragma once

#include <optional>
#include <vector>

#include "core/statistics.h"

namespace nearfar {

// Of the messages of one communicator in one window, microseconds: halves of round trips.
struct Percentiles {
    double p50 = 0;
    double p95 = 0;
    double p99 = 0;
    double max = 0;
    std::size_t n = 0;
};

// The smallest value that at least the named share is no larger than (nearest rank). Reorders `values`; none: all zero.
Percentiles percentiles_of(std::vector<float>& values);

// contended / solo - 1 of each round: how much longer it takes. Rounds in which one of the two is missing (not above 0) are left out;
// nothing where all are.
std::optional<Summary> latency_penalty(const std::vector<double>& contended, const std::vector<double>& solo);

// 1 - rate / solo of each round: how much of the bandwidth is gone. A starved task (rate 0) loses all of it.
std::optional<Summary> bandwidth_penalty(const std::vector<double>& rates, const std::vector<double>& solo);

// Whether the interval of a penalty is as narrow as asked, in its own unit (0.02: two points of a hundred).
bool is_narrow(const Summary& penalty, double half_width);

}  // namespace nearfar
