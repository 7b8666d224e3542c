#include "kernels/stream/stream_bench.h"

#include <algorithm>

#include "core/clock.h"
#include "core/suspension.h"
#include "engine/checked_run.h"

namespace nearfar {

std::vector<CellResult> StreamBench::measure(const Cell& cell, double seconds) {
    std::vector<MovingFlow> flows;
    for (std::size_t i = 0; i < cell.flows.size(); ++i) flows.push_back(movers_.of(cell.flows[i], i));
    return {measure_window(cell, flows, policy_, std::min(seconds, policy_.stream_seconds), nullptr)};
}

void StreamBench::prepare(const std::vector<Cell>& cells, Session& session, const Progress& progress) {
    const double begin = now();
    if (!cells.empty()) progress({0, cells.size(), "set-up", {}});
    for (const Cell& cell : cells) {
        for (const Flow& flow : cell.flows) {
            try {
                movers_.memory_on(flow.destination.index);
            } catch (const std::exception&) {
                continue;  // told when its cell is measured
            }
        }
    }
    session.setup_seconds["host_memory"] = now() - begin;
}

}  // namespace nearfar
