#include "engine/checked_run.h"

#include <algorithm>
#include <set>
#include <utility>

#include "core/clock.h"
#include "core/trouble.h"

namespace nearfar {
namespace {

bool any(const std::vector<std::exception_ptr>& trouble) {
    return std::any_of(trouble.begin(), trouble.end(), [](const std::exception_ptr& one) { return one != nullptr; });
}

}  // namespace

void CheckedOutcome::require() const {
    for (const std::exception_ptr& one : trouble)
        if (one) std::rethrow_exception(one);
}

Verified CheckedOutcome::all_verified() const {
    Verified all;
    for (const Verified& one : verified) all.add(one);
    return all;
}

CheckedOutcome run_checked(const std::vector<Mover>& movers, const Policy& policy, double seconds,
                           const std::function<void()>& under_load) {
    CheckedOutcome outcome;
    outcome.trouble.resize(movers.size());
    outcome.verified.resize(movers.size());
    const double poisoned = now();
    for (std::size_t i = 0; i < movers.size(); ++i)
        if (movers[i].poison) outcome.trouble[i] = thrown_by(movers[i].poison);
    outcome.verify_seconds += now() - poisoned;
    if (any(outcome.trouble)) return outcome;
    std::vector<FlowWork> work;
    for (const Mover& mover : movers) work.push_back(mover.work);
    Engine engine(work);
    try {
        outcome.moved = run_window(engine, policy, seconds, under_load);
    } catch (...) {
        engine.stop();
        for (std::size_t i = 0; i < movers.size(); ++i) outcome.trouble[i] = engine.threads()[i].trouble();
        if (!any(outcome.trouble)) throw;
        return outcome;
    }
    const double begin = now();
    for (std::size_t i = 0; i < movers.size(); ++i)
        outcome.trouble[i] = thrown_by([&] { outcome.verified[i] = movers[i].verify(); });
    outcome.verify_seconds += now() - begin;
    return outcome;
}

CellResult measure_window(const Cell& cell, const std::vector<MovingFlow>& flows, const Policy& policy, double seconds,
                          const std::function<void()>& under_load) {
    std::vector<Mover> movers;
    for (const MovingFlow& flow : flows) movers.insert(movers.end(), flow.movers.begin(), flow.movers.end());
    const CheckedOutcome checked = run_checked(movers, policy, seconds, under_load);
    checked.require();
    const WindowOutcome& moved = checked.moved;
    const bool copies = std::any_of(cell.flows.begin(), cell.flows.end(), [](const Flow& flow) { return flow.is_copy(); });
    CellResult result;
    result.quantity = copies ? "copy" : "stream";
    result.cell = cell;
    result.method = "windowed";
    const Verified verified = checked.all_verified();
    if (verified.bytes > 0) result.verified = verified;
    result.verify_seconds = checked.verify_seconds;
    result.converged = moved.complete;
    result.visits = {{moved.begin, moved.end, moved.total.n()}};
    result.total = moved.total;
    for (std::size_t i = 0, first = 0; i < flows.size(); ++i) {
        FlowResult flow = flows[i].known;
        flow.rate = moved.rates[i];
        const std::size_t last = first + flows[i].movers.size();
        std::set<int> cpus;
        for (std::size_t thread = first; thread < last; ++thread)
            cpus.insert(moved.cpus[thread].begin(), moved.cpus[thread].end());
        if (flow.cpus.empty()) flow.cpus.assign(cpus.begin(), cpus.end());
        const auto rates = moved.task_rates.begin();
        if (flow.flow.tasks > 1)
            flow.tasks = summarise({rates + static_cast<std::ptrdiff_t>(first), rates + static_cast<std::ptrdiff_t>(last)});
        if (!copies && flow.flow.is_stream_flow()) flow.best = flow.rate.max;
        if (!copies || flow.flow.is_copy()) result.bytes = std::max(result.bytes, flows[i].bytes);
        if (result.smaller.empty()) result.smaller = flows[i].smaller;
        result.flows.push_back(std::move(flow));
        first = last;
    }
    return result;
}

}  // namespace nearfar
