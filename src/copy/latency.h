// Latencies of a path that the host times, never mixed: a tiny copy from its enqueueing to its completion, and the launch of a kernel.
// Loads by a kernel are in chase.h.
#pragma once

#include <functional>

#include "cell/policy.h"
#include "cell/results.h"
#include "copy/copy_setting.h"

namespace nearfar {

// All latencies of a lone flow by a copy engine, each a result, at most `seconds` together, driven by the CPU whose turn it is in this
// round. Throws Prevented where the cell is another.
std::vector<CellResult> measure_latencies(const Cell& cell, const Policy& policy, double seconds, CopySetting& setting);

// `policy.samples` samples, fewer where time is up; throws Prevented where it was interrupted before the first.
Summary take_samples(const Policy& policy, double seconds, const std::function<double()>& sample);

}  // namespace nearfar
