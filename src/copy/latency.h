// Latencies of a path that the host times, never mixed: a tiny copy from its enqueueing to its completion, and the launch of a kernel.
// Loads by a kernel are in chase.h.
#pragma once

#include <functional>

#include "cell/measure.h"
#include "gpu/route.h"

namespace nearfar {

// Microseconds, all by the calling thread and the route's driving GPU, at most `seconds` each.
//
// A copy of 8 bytes of the flow, from its enqueueing until its completion is seen by the host.
Summary copy_latency(const Route& route, const Policy& policy, double seconds);
// An empty kernel, likewise.
Summary launch_latency(const Route& route, const Policy& policy, double seconds);

// Samples until the interval of the median is narrow enough or time is up; throws Prevented where not even six could be had.
Summary sample_until_narrow(const Policy& policy, double seconds, const std::function<double()>& sample);

}  // namespace nearfar
