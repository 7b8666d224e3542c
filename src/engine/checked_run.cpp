#include "engine/checked_run.h"

#include <algorithm>

#include "core/clock.h"

namespace nearfar {
namespace {

bool any(const std::vector<std::exception_ptr>& trouble) {
    return std::any_of(trouble.begin(), trouble.end(), [](const std::exception_ptr& one) { return one != nullptr; });
}

// What `action` throws, if it throws.
std::exception_ptr trouble_of(const std::function<void()>& action) {
    try {
        action();
        return nullptr;
    } catch (...) {
        return std::current_exception();
    }
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
        if (movers[i].poison) outcome.trouble[i] = trouble_of(movers[i].poison);
    outcome.verify_seconds += now() - poisoned;
    if (any(outcome.trouble)) return outcome;
    std::vector<TogetherSpec> specs;
    for (std::size_t i = 0; i < movers.size(); ++i) {
        const auto body = [&movers, &outcome, i](TogetherTask& task) {
            outcome.trouble[i] = trouble_of([&] { movers[i].spec.body(task); });
            if (outcome.trouble[i]) std::rethrow_exception(outcome.trouble[i]);
        };
        specs.push_back({body, movers[i].spec.chunk, movers[i].spec.flow});
    }
    try {
        outcome.moved = run_together(specs, policy, seconds, under_load);
    } catch (...) {
        if (!any(outcome.trouble)) throw;
        return outcome;
    }
    const double begin = now();
    for (std::size_t i = 0; i < movers.size(); ++i)
        outcome.trouble[i] = trouble_of([&] { outcome.verified[i] = movers[i].verify(); });
    outcome.verify_seconds += now() - begin;
    return outcome;
}

}  // namespace nearfar
