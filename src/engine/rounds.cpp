#include "engine/rounds.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <set>
#include <thread>
#include <utility>

#include "cell/matrix.h"
#include "cell/visited.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/interrupt.h"
#include "core/suspension.h"
#include "core/trouble.h"

namespace nearfar {
namespace {

constexpr double least_cell_seconds = 0.02;

constexpr double window_weight = 6;

constexpr double turn_glance = 0.02;

}  // namespace

void set_absent_aside(std::vector<Cell>& cells, const Node& node, bool absent_fails, Session& session) {
    if (!absent_fails) return require_endpoints(cells, node);
    std::vector<Cell> present;
    for (const Cell& cell : cells) {
        const std::string absent = absent_endpoint(cell, node);
        if (absent.empty())
            present.push_back(cell);
        else
            session.failed.push_back({cell.key(), "absent", absent});
    }
    cells = present;
}

std::vector<std::size_t> order_of_round(std::size_t cells, int round) {
    const std::size_t half = (cells + 1) / 2;  // one of the first half, one of the second
    std::vector<std::size_t> order(cells);
    for (std::size_t i = 0; i < cells; ++i) order[i] = i % 2 == 0 ? i / 2 : half + i / 2;
    if (cells > 0)
        std::rotate(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(round) % cells),
                    order.end());
    return order;
}

Step step_of(std::size_t position, std::size_t count, const std::vector<Cell>& cells, int round) {
    Step step{position, count, "", {}};
    for (const Cell& cell : cells) {
        step.words += (step.words.empty() ? "" : "+") + cell.key();
        step.cells.push_back(cell.key());
    }
    if (round > 0) step.words += ", round " + std::to_string(round + 1);
    return step;
}

namespace {

// A cell's share of a budget: windows with their baselines need several times what one flow behind a latch needs.
double weight(const Cell& cell) {
    const bool lone = cell.flows.size() == 1 && cell.flows[0].tasks == 1 && !cell.flows[0].pageable && !cell.flows[0].staged;
    return lone ? 1 : window_weight;
}

double weight(const std::vector<Cell>& cells) {
    return std::accumulate(cells.begin(), cells.end(), 0.0, [](double sum, const Cell& cell) { return sum + weight(cell); });
}

// What is left of a budget, by weight.
class Budget {
public:
    // Until `end`; `weight` of everything that is to be measured.
    Budget(double end, double weight) : end_(end), left_(weight) {}

    // The seconds for a part of so much weight.
    double share(double weight) {
        const double seconds = (end_ - running_time()) * weight / left_;
        left_ -= weight;
        return seconds;
    }

private:
    double end_;
    double left_;
};

// Enters what is known of a cell into `session`: its results, or what `results` throws as Prevented, Failure, or for want of memory or
// threads. ProcessSpent leaves the cell without an answer.
void enter(const Cell& cell, Session& session, const std::function<std::vector<CellResult>()>& results) {
    const Message trouble = trouble_of([&] {
        try {
            for (CellResult& result : results()) session.results.push_back(std::move(result));
        } catch (const ProcessSpent& why) {
            session.spent = why.what();
        }
    });
    if (trouble.word.empty()) return;
    std::vector<NotMeasured>& cells = trouble.word == trouble_word::prevented ? session.skipped : session.failed;
    const std::string& code = trouble.field(0);
    cells.push_back({cell.key(), code.empty() ? "error" : code, trouble.field(1)});
}

// Throws Prevented where no visit can be made in so many seconds.
void require_visit(double seconds) {
    if (interrupted()) throw Prevented("interrupted", "interrupted before it was measured");
    if (seconds < least_cell_seconds) throw Prevented("budget", "the budget was used up before it was measured");
}

bool can_visit(double seconds) { return !interrupted() && seconds >= least_cell_seconds; }

// One visit; throws Prevented where it was interrupted before, or `seconds` are too few.
std::vector<CellResult> visit(double seconds, const std::function<std::vector<CellResult>()>& visiting) {
    require_visit(seconds);
    const double start = now();
    std::vector<CellResult> results = unless_suspended(visiting);
    for (CellResult& result : results) result.seconds = (now() - start) / static_cast<double>(results.size());
    return results;
}

// Waits until a cell that was visited a moment ago may be visited again.
void await_turn(double time, double end) {
    while (now() < std::min(time, end) && !interrupted())
        std::this_thread::sleep_for(std::chrono::duration<double>(std::min(turn_glance, time - now())));
}

// A cell between its visits.
struct OpenCell {
    Cell cell;
    bool is_doubted = false;  // visited before, and alone in the usual way from now on
    bool is_over = false;     // there is an answer, or none is to come
};

// Cells that are visited in company, or one alone.
struct OpenSet {
    std::vector<OpenCell> cells;
    double visited = -INFINITY;  // when the last visit ended

    std::vector<Cell> names() const {
        std::vector<Cell> found;
        for (const OpenCell& one : cells) found.push_back(one.cell);
        return found;
    }
};

bool was_in_company(const std::vector<CellResult>& known) { return !known.empty() && !known.front().beside.empty(); }

class Rounds {
public:
    Rounds(std::vector<OpenSet> sets, const Policy& policy, double begin, Session& session, const Progress& progress,
           const Bench& bench)
        : open_(std::move(sets)), policy_(policy), quick_(quick_policy(policy)),
          end_(policy.budget > 0 ? begin + policy.budget : INFINITY), session_(session), progress_(progress), bench_(bench) {}

    void run() {
        for (int round = 0; !open_.empty(); ++round) {
            go_round(round);
            compare();
        }
    }

private:
    std::vector<OpenSet> open_;
    std::vector<OpenCell> held_;  // visited enough, for the time being; no answer until all like them were
    const Policy& policy_;
    const Policy quick_;
    const double end_;
    Session& session_;
    const Progress& progress_;
    const Bench& bench_;

    std::vector<CellResult>& known(const OpenCell& one) { return session_.so_far[one.cell.key()]; }
    bool is_quick(const OpenCell& one) const { return policy_.quick && !one.is_doubted; }
    // Whether its cells get their answers once they are compared with others.
    bool is_compared(const OpenSet& set) const { return set.cells.size() > 1 || is_quick(set.cells[0]); }

    void go_round(int round) {
        std::vector<Cell> all;
        for (const OpenSet& set : open_)
            for (const OpenCell& one : set.cells) all.push_back(one.cell);
        Budget budget(end_, weight(all));
        std::size_t done = 0;
        std::vector<OpenSet> next;
        for (const std::size_t i : order_of_round(open_.size(), round)) {
            OpenSet& set = open_[i];
            const std::vector<Cell> cells = set.names();
            const double seconds = budget.share(weight(cells));
            if (can_visit(seconds)) progress_(step_of(done, all.size(), cells, round));
            done += cells.size();
            await_turn(set.visited + between_visits(cells[0], policy_), end_);
            const Policy& policy = is_quick(set.cells[0]) ? quick_ : policy_;
            if (cells.size() > 1)
                visit_together(set, cells, policy, seconds, next);
            else
                add(set.cells[0], [&] { return visit(seconds, [&] { return bench_.alone(cells[0], policy, seconds, round); }); });
            set.visited = now();
            settle(set);
        }
        const auto is_over = [](const OpenSet& set) { return set.cells.empty(); };
        open_.erase(std::remove_if(open_.begin(), open_.end(), is_over), open_.end());
        open_.insert(open_.end(), next.begin(), next.end());
    }

    // Adds what a visit gave to what is known of a cell.
    void add(OpenCell& one, const std::function<std::vector<CellResult>()>& results) {
        std::vector<CellResult>& so_far = known(one);
        one.is_over = true;
        enter(one.cell, session_, [&]() -> std::vector<CellResult> {
            try {
                std::vector<CellResult> more = results();
                if (was_in_company(so_far) && !was_in_company(more)) so_far.clear();
                for (CellResult& result : more) result.remeasured = result.remeasured || one.is_doubted;
                add_visit(so_far, std::move(more));
                one.is_over = false;
                return {};
            } catch (const Prevented& why) {
                if (so_far.empty()) throw;
                for (CellResult& result : so_far) {
                    result.cut_short = CutShort{why.code, why.what()};
                    result.converged = false;
                }
                session_.interrupted = session_.interrupted || why.code != "budget";
            }
            return std::move(so_far);
        });
        if (one.is_over) session_.so_far.erase(one.cell.key());
    }

    // Those that the others spoiled go into `next`, each by itself.
    void visit_together(OpenSet& set, const std::vector<Cell>& cells, const Policy& policy, double seconds,
                        std::vector<OpenSet>& next) {
        std::vector<SetOutcome> outcomes(cells.size());
        double spent = 0;
        if (can_visit(seconds)) {
            const double start = now();
            outcomes = unless_suspended([&] { return bench_.together(cells, policy, seconds); });
            spent = (now() - start) / static_cast<double>(cells.size());
        }
        const bool can_go_on = can_visit(seconds);
        for (std::size_t i = 0; i < cells.size(); ++i) {
            const SetOutcome& outcome = outcomes[i];
            OpenCell& one = set.cells[i];
            if (!outcome.result && !outcome.trouble && can_go_on) {
                next.push_back({{one}, now()});
                one.is_over = true;
                continue;
            }
            add(one, [&] {
                if (outcome.trouble) std::rethrow_exception(outcome.trouble);
                if (!outcome.result) require_visit(seconds);
                CellResult result = *outcome.result;
                result.seconds = spent;
                return std::vector<CellResult>{result};
            });
        }
    }

    // Takes the cells out of a set that are over, or all, where all were visited enough.
    void settle(OpenSet& set) {
        std::vector<OpenCell>& cells = set.cells;
        cells.erase(std::remove_if(cells.begin(), cells.end(), [](const OpenCell& one) { return one.is_over; }), cells.end());
        if (cells.empty()) return;
        const bool company = cells.size() > 1;
        const auto is_enough = [&](const OpenCell& one) {
            // Of a cell that lost its company the visits count that are to come.
            return is_quick(one) || (was_in_company(known(one)) == company && is_visited_enough(known(one), policy_));
        };
        if (!std::all_of(cells.begin(), cells.end(), is_enough)) return;
        const bool compared = is_compared(set);
        for (const OpenCell& one : cells) compared ? held_.push_back(one) : finish(one);
        cells.clear();
    }

    void finish(const OpenCell& one) {
        enter(one.cell, session_, [&] {
            for (CellResult& result : known(one))
                result.converged = result.converged && (is_quick(one) || is_settled(result, policy_));
            return std::move(known(one));
        });
        session_.so_far.erase(one.cell.key());
    }

    // Once none is to come that is compared: what is in no doubt is a result, the rest is visited alone.
    void compare() {
        const auto is_to_come = [this](const OpenSet& set) { return is_compared(set); };
        if (held_.empty() || std::any_of(open_.begin(), open_.end(), is_to_come)) return;
        std::vector<CellResult> all = session_.results;
        for (const auto& [cell, results] : session_.so_far) all.insert(all.end(), results.begin(), results.end());
        std::set<std::string> doubted;
        for (const std::size_t i : bench_.doubted(all)) doubted.insert(all[i].cell.key());
        for (OpenCell& one : held_) {
            if (doubted.count(one.cell.key()) == 0) {
                finish(one);
                continue;
            }
            one.is_doubted = true;
            if (policy_.quick) known(one).clear();
            open_.push_back({{one}});
        }
        held_.clear();
    }
};

}  // namespace

Policy quick_policy(Policy usual) {
    usual.sample_seconds /= 2;
    usual.sample_chunks /= 2;
    return usual;
}

void measure_in_rounds(const std::vector<Cell>& cells, const std::vector<std::vector<std::size_t>>& sets, const Policy& policy,
                       double begin, Session& session, const Progress& progress, const Bench& bench) {
    std::vector<OpenSet> open;
    for (const std::vector<std::size_t>& set : sets) {
        open.emplace_back();
        for (const std::size_t i : set) open.back().cells.push_back({cells[i]});
    }
    Rounds(std::move(open), policy, begin, session, progress, bench).run();
}

void measure_in_rounds(const std::vector<Cell>& cells, const Policy& policy, double begin, Session& session,
                       const Progress& progress,
                       const std::function<std::vector<CellResult>(const Cell&, double seconds, int round)>& alone) {
    std::vector<std::vector<std::size_t>> sets;
    for (std::size_t i = 0; i < cells.size(); ++i) sets.push_back({i});
    measure_in_rounds(cells, sets, policy, begin, session, progress,
                      {[&](const Cell& cell, const Policy&, double seconds, int round) { return alone(cell, seconds, round); }});
}

}  // namespace nearfar
