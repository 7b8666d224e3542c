#include "cell/visited.h"

#include <algorithm>
#include <utility>

namespace nearfar {
namespace {

constexpr double rounding = 0.02;  // above a ceiling

Best best_of(const CellResult& result) { return result.unit == std::string("us") ? Best::lowest : Best::highest; }

void add_flow(FlowResult& known, FlowResult&& more, const std::vector<Visit>& visits) {
    known.rate = joined(known.rate, more.rate, visits);
    known.solo = std::move(more.solo);  // over all rounds so far
    known.tasks = std::move(more.tasks);
    known.link = more.link.gen || more.link.width ? more.link : known.link;
    if (known.best && more.best) known.best = std::max(*known.best, *more.best);
    known.tried.insert(known.tried.end(), more.tried.begin(), more.tried.end());
    const auto fastest = std::min_element(known.tried.begin(), known.tried.end(),
                                          [](const TriedCpus& a, const TriedCpus& b) { return a.median < b.median; });
    if (fastest != known.tried.end()) known.cpus = fastest->cpus;
}

void add_aggressors(std::vector<AggressorRate>& known, const std::vector<AggressorRate>& more) {
    for (std::size_t i = 0; i < known.size() && i < more.size(); ++i) known[i].rate = joined(known[i].rate, more[i].rate, {});
}

void add(CellResult& known, CellResult&& more) {
    const Best best = best_of(known);
    known.visits.insert(known.visits.end(), more.visits.begin(), more.visits.end());
    known.total = joined(known.total, more.total, known.visits);
    for (std::size_t i = 0; i < known.flows.size(); ++i) add_flow(known.flows[i], std::move(more.flows[i]), known.visits);
    // What tasks share is told by medians: where they compete there is no level that a path reaches.
    // Of a tail it is the worst that counts.
    if (!is_shared_by_tasks(known.cell) && !known.slowest) {
        known.total.plateau = plateau_of(known.total, known.visits, best);
        if (known.flows.size() == 1) {
            std::optional<Plateau>& plateau = known.total.plateau;
            if (plateau && known.flows[0].ceiling)
                plateau->high = std::max(plateau->value, std::min(plateau->high, *known.flows[0].ceiling));
            known.flows[0].rate.plateau = plateau;
        }
    }
    if (known.slowest && more.slowest && more.slowest->time > known.slowest->time) known.slowest = more.slowest;
    known.rejected += more.rejected;
    known.converged = known.converged && more.converged;
    if (known.verified && more.verified) known.verified->add(*more.verified);
    add_aggressors(known.aggressors, more.aggressors);
    known.seconds += more.seconds;
    known.verify_seconds += more.verify_seconds;
}

// The rate that nothing can be above, where it is known: of all flows together.
std::optional<double> ceiling_of(const CellResult& result) {
    double ceiling = 0;
    for (const FlowResult& flow : result.flows) {
        if (!flow.ceiling) return {};
        ceiling += *flow.ceiling;
    }
    return ceiling * (1 + rounding);
}

// Leaves single samples out that are above the ceiling: a clock, or bytes that did not move. Where the median is above it, it is the
// ceiling that is wrong, and all stay.
void leave_impossible_out(CellResult& visit) {
    const std::optional<double> ceiling = ceiling_of(visit);
    if (!ceiling || visit.visits.size() != 1 || visit.total.median > *ceiling || visit.total.max <= *ceiling) return;
    const std::vector<double> totals = visit.total.samples;
    const auto possible = [&](const Summary& rate) {
        std::vector<double> kept;
        for (std::size_t i = 0; i < rate.n() && i < totals.size(); ++i)
            if (totals[i] <= *ceiling) kept.push_back(rate.samples[i]);
        return summarise(std::move(kept));
    };
    visit.total = possible(visit.total);
    for (FlowResult& flow : visit.flows) flow.rate = possible(flow.rate);
    visit.rejected = totals.size() - visit.total.n();
    visit.visits[0].samples = visit.total.n();
}

}  // namespace

void add_visit(std::vector<CellResult>& known, std::vector<CellResult> visit) {
    for (CellResult& result : visit) leave_impossible_out(result);
    if (known.empty()) {
        known = std::move(visit);
        return;
    }
    for (std::size_t i = 0; i < known.size() && i < visit.size(); ++i) add(known[i], std::move(visit[i]));
}

bool is_settled(const CellResult& known, const Policy& policy) {
    const VisitsFor wanted = visits_for(known.cell, policy);
    if (known.visits.size() < static_cast<std::size_t>(wanted.least)) return false;
    if (known.slowest) return true;  // nothing to reach: all that were asked for is enough
    return known.total.plateau ? is_reached_again(*known.total.plateau, wanted.again) : known.total.half_width() <= policy.target;
}

bool is_visited_enough(const std::vector<CellResult>& known, const Policy& policy) {
    return std::all_of(known.begin(), known.end(), [&](const CellResult& result) {
        return result.visits.size() >= static_cast<std::size_t>(visits_for(result.cell, policy).most) ||
               is_settled(result, policy);
    });
}

}  // namespace nearfar
