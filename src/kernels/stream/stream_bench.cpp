#include "kernels/stream/stream_bench.h"

#include <algorithm>

#include "core/clock.h"
#include "core/suspension.h"
#include "kernels/stream/stream_movers.h"

namespace nearfar {

bool needs_no_gpu(const std::vector<Cell>& cells, const Policy& policy) {
    const auto is_of_cores = [](const Cell& cell) { return gpus_of(cell).empty(); };
    return !cells.empty() && policy.aggressors.empty() && std::all_of(cells.begin(), cells.end(), is_of_cores);
}

void measure_stream_of_cores(const Policy& policy, const Node& node, const std::vector<Cell>& cells, Measurement& measurement) {
    const double begin = now();
    StreamMovers movers(node);
    if (!cells.empty()) measurement.progress({0, cells.size(), "set-up", {}});
    movers.make_arrays(cells);
    measurement.session.setup_seconds["host_memory"] = now() - begin;
    const auto visit = [&](const Cell& cell, double seconds, int) {
        std::vector<MovingFlow> flows;
        for (std::size_t i = 0; i < cell.flows.size(); ++i) flows.push_back(movers.of(cell.flows[i], i));
        return std::vector{measure_window(cell, flows, policy, std::min(seconds, policy.stream_seconds), nullptr)};
    };
    measure_in_rounds(cells, policy, running_time(), measurement.session, measurement.progress, visit);
    measurement.end();
}

}  // namespace nearfar
