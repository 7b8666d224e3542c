// Three latencies of a path, never mixed: a tiny copy from its enqueueing to its completion, dependent loads by a kernel, and the
// launch of a kernel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "flow/gpu_device.h"
#include "flow/measure.h"
#include "flow/node.h"
#include "flow/route.h"

namespace nearfar {

// A random cycle over `lines` lines: each names the next, and every one comes once before the first comes again.
std::vector<std::uint32_t> random_cycle(std::size_t lines, std::uint64_t seed);

// Microseconds, all by the calling thread and the route's driving GPU, at most `seconds` each.
//
// A copy of 8 bytes of the flow, from its enqueueing until its completion is seen by the host.
Summary copy_latency(const Route& route, const Policy& policy, double seconds);
// An empty kernel, likewise.
Summary launch_latency(const Route& route, const Policy& policy, double seconds);
// One load of the flow's far memory (host memory, or the other GPU's) by one thread of the driving GPU, each from the address that
// the last one gave, no line twice; the launch is removed by the difference of a long and a short run.
Summary chase_latency(const Route& route, const Node& node, const std::vector<GpuDevice>& gpus, const Policy& policy,
                      double seconds);

}  // namespace nearfar
