// Flows of GPUs at the same time: each route keeps chunks queued on its stream until a shared stop.
#pragma once

#include <functional>
#include <vector>

#include "flow/measure.h"
#include "flow/route.h"
#include "flow/together.h"

namespace nearfar {

// One thread's part: a route, the bytes of each of its chunks, and which of the cell's flows it serves.
struct WindowTask {
    const Route* route;
    std::size_t chunk;
    std::size_t flow;
};

TogetherOutcome run_window(const std::vector<WindowTask>& tasks, const Policy& policy, double seconds,
                           const std::function<void()>& under_load);

// The chunk that lasts about 1.3 ms at a rate in GB/s: at least 1 MiB, at most 64 MiB and a fourth of the route's buffer.
std::size_t chunk_for(double rate, std::size_t buffer);

// The rate of a route in GB/s from a few copies in a row: to choose its chunk, not to report.
double probe_rate(const Route& route, double seconds);

}  // namespace nearfar
