// Latencies of a path that the host times, never mixed: a tiny copy from its enqueueing to its completion, and the launch of a kernel.
// Loads by a kernel are in chase.h.
#pragma once

#include <functional>

#include "cell/policy.h"
#include "cell/results.h"
#include "copy/copy_setting.h"

namespace nearfar {

// All latencies of a lone flow by a copy engine, each a result, at most `seconds` together. Throws Prevented where the cell is another.
std::vector<CellResult> measure_latencies(const Cell& cell, const Policy& policy, double seconds, CopySetting& setting);

// Samples until the interval of the median is narrow enough or time is up; throws Prevented where not even six could be had.
Summary sample_until_narrow(const Policy& policy, double seconds, const std::function<double()>& sample);

}  // namespace nearfar
