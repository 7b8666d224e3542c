// What is said of many transfers that were each timed by themselves. Pure.
#pragma once

#include <cstddef>

#include "cell/results.h"

namespace nearfar {

// Times in the unit of the result's figures.
struct TailFigures {
    std::size_t count = 0;
    double p50 = 0;
    double p99 = 0;
    double p99_9 = 0;  // of fewer than a thousand it lies between the two slowest
    double worst = 0;
    double worst_at = 0;          // when it began, in seconds since the run did
    std::size_t worst_visit = 0;  // from 1 on
};

// Of a result that has a slowest transfer; `began`: when the run began, on CLOCK_MONOTONIC.
TailFigures tail_figures(const CellResult& result, double began);

}  // namespace nearfar
