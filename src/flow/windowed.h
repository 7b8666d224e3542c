// Several flows at once: each keeps chunks queued until a shared stop, and all are counted in common sub-windows.
#pragma once

#include <functional>
#include <vector>

#include "flow/measure.h"
#include "flow/route.h"

namespace nearfar {

// One thread's part of a windowed run: a route, the bytes of each of its chunks, and which of the cell's flows it serves.
struct WindowTask {
    const Route* route;
    std::size_t chunk;
    std::size_t flow;
};

struct WindowOutcome {
    std::vector<Summary> rates;               // one for each flow, its tasks together, GB/s
    std::vector<double> task_rates;           // each task's median, GB/s
    Summary total;
    std::vector<std::vector<int>> cpus;       // each task's binding in effect
    std::vector<std::size_t> bytes_moved;     // by each task, to know what of the destination was written
    bool converged = false;
};

// Runs until the medians of every flow and of their sum are known well enough, at most `seconds`. `under_load` is called once,
// while all move.
WindowOutcome run_window(const std::vector<WindowTask>& tasks, const Policy& policy, double seconds,
                         const std::function<void()>& under_load);

// The chunk that lasts about 1.3 ms at a rate in GB/s: at least 1 MiB, at most 64 MiB and a fourth of the route's buffer.
std::size_t chunk_for(double rate, std::size_t buffer);

// The rate of a route in GB/s from a few copies in a row: to choose its chunk, not to report.
double probe_rate(const Route& route, double seconds);

}  // namespace nearfar
