#include "engine/checked_run.h"

#include <algorithm>

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

}  // namespace nearfar
