#include "kernels/stream/stream_bench.h"

#include <algorithm>

#include "core/clock.h"
#include "core/suspension.h"
#include "engine/checked_run.h"

namespace nearfar {
namespace {

std::vector<int> merged(const std::vector<std::vector<int>>& sets) {
    std::vector<int> all;
    for (const std::vector<int>& set : sets) all.insert(all.end(), set.begin(), set.end());
    std::sort(all.begin(), all.end());
    return all;
}

}  // namespace

std::vector<CellResult> StreamBench::measure(const Cell& cell, double seconds) {
    CellResult result;
    result.quantity = "stream";
    result.method = "windowed";
    result.cell = cell;
    result.bytes = movers_.array_bytes();
    std::vector<Mover> movers;
    for (std::size_t i = 0; i < cell.flows.size(); ++i)
        for (Mover& mover : movers_.of(cell.flows[i], i)) movers.push_back(std::move(mover));
    const CheckedOutcome checked = run_checked(movers, policy_, std::min(seconds, policy_.stream_seconds), nullptr);
    checked.require();
    const WindowOutcome& outcome = checked.moved;
    for (std::size_t i = 0, first = 0; i < cell.flows.size(); ++i) {
        std::size_t last = first;
        while (last < movers.size() && movers[last].work.flow == i) ++last;
        FlowResult flow;
        flow.flow = cell.flows[i];
        flow.rate = outcome.rates[i];
        flow.best = outcome.rates[i].max;
        flow.cpus = merged({outcome.cpus.begin() + static_cast<std::ptrdiff_t>(first),
                            outcome.cpus.begin() + static_cast<std::ptrdiff_t>(last)});
        flow.memory_nodes = movers_.memory_on(cell.flows[i].destination.index).memory_nodes();
        result.flows.push_back(flow);
        first = last;
    }
    result.total = outcome.total;
    result.converged = outcome.complete;
    result.visits = {{outcome.begin, outcome.end, outcome.total.n()}};
    const Verified verified = checked.all_verified();
    if (verified.bytes > 0) result.verified = verified;
    return {std::move(result)};
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
