// How cells are measured: times, samples, and what is asked for.
#pragma once

#include <cstddef>
#include <vector>

#include "cell/cell.h"

namespace nearfar {

// How often a cell is visited, and when that is enough.
struct VisitsFor {
    int least = 3;
    int most = 8;
    double again = 0.003;  // relative, within which its best visits have to lie
};

struct Policy {
    double budget = 0;             // seconds for all cells together; 0: each takes what it needs
    double target = 0.005;         // half-width of an interval that is narrow; within which copies of the warm-up agree; relative
    double latched_seconds = 0.5;  // the most for one visit to a lone flow
    double windowed_seconds = 0.3;  // the most for one window; four sub-windows take 0.06
    double solo_seconds = 0.2;      // the most for the baseline of one flow in a window
    double stream_seconds = 1.5;    // the most for one window of STREAM: passes over large arrays take their time
    double warm_up_seconds = 0.3;
    double latch_seconds = 2.0;      // a latch that is not opened by then opens itself
    double hang_seconds = 30.0;      // a cell that takes longer hangs
    Aspect aspect = Aspect::rates;   // of cells that do not say it themselves
    int tail = 1000;                 // transfers of a tail
    std::vector<std::size_t> sizes;  // in bytes, ascending: those of a cell that is measured at sizes
    bool at_a_size = false;          // what each copy costs to start is part of its rate
    bool even_if_busy = false;       // measure GPUs that other processes use
    bool each_alone = false;         // nothing in company: a process ended while several cells were measured
    bool quick = false;              // pairs of GPUs together, few samples, suspects once more
    bool all = false;                // without cells: those too that another one stands for
    std::vector<Cell> aggressors;    // run in the background, beside everything that is measured
    std::size_t samples = 4;         // in a visit to a cell, or in a window: more visits help more than more samples
    double sample_seconds = 0.005;   // of a sample
    int sample_chunks = 10;          // of the slowest flow in a sample of a window, at least
    int visits = 0;                  // to each cell; 0: as visits_for says
    int least_visits = 3;            // to a cell; see visits_for
    int most_visits = 8;
    double between_visits = 0.25;  // seconds, at least: what disturbs a node lasts
};

// In how many visits the transfers of a tail are made: what disturbs often outlasts one.
int tail_visits(const Policy& policy);

// Seconds between two visits to a cell, at least. Each visit for latencies is by another CPU, which counts for more than the moment.
double between_visits(const Cell& cell, const Policy& policy);

// Lone copies until three visits agree; on GPUs alone, where nobody disturbs them, until two do. What flows that compete, or cores,
// reach is wide: 1 %. What tasks share is a median over a fixed number. Latencies once by each CPU that is tried. Sizes are many: twice. Tails as
// tail_visits says.
VisitsFor visits_for(const Cell& cell, const Policy& policy);

}  // namespace nearfar
