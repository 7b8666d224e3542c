#include "engine/rounds.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <thread>

#include "cell/matrix.h"
#include "cell/visited.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/interrupt.h"
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
            session.failed.push_back({cell.text(), "absent", absent});
    }
    cells = present;
}

double weight(const Cell& cell) {
    const bool lone = cell.flows.size() == 1 && cell.flows[0].tasks == 1 && !cell.flows[0].pageable && !cell.flows[0].staged;
    return lone ? 1 : window_weight;
}

double weight(const std::vector<Cell>& cells) {
    return std::accumulate(cells.begin(), cells.end(), 0.0, [](double sum, const Cell& cell) { return sum + weight(cell); });
}

Budget::Budget(double seconds, double begin, double weight) : end_(seconds > 0 ? begin + seconds : INFINITY), left_(weight) {}

double Budget::share(double weight) {
    const double seconds = (end_ - now()) * weight / left_;
    left_ -= weight;
    return seconds;
}

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
    cells.push_back({cell.text(), code.empty() ? "error" : code, trouble.field(1)});
}

std::vector<CellResult> visit(double seconds, const Visiting& visiting) {
    if (interrupted()) throw Prevented("interrupted", "interrupted before it was measured");
    if (seconds < least_cell_seconds) throw Prevented("budget", "the budget was used up before it was measured");
    const double start = now();
    std::vector<CellResult> results = visiting(seconds);
    for (CellResult& result : results) result.seconds = (now() - start) / static_cast<double>(results.size());
    return results;
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

namespace {

// A cell between its visits.
struct OpenCell {
    const Cell* cell;
    double visited = -INFINITY;  // when the last visit ended
    bool is_finished = false;
};

// Waits until a cell that was visited a moment ago may be visited again.
void await_turn(double time, double end) {
    while (now() < std::min(time, end) && !interrupted())
        std::this_thread::sleep_for(std::chrono::duration<double>(std::min(turn_glance, time - now())));
}

// Visits a cell once more, and finishes it where that was the last visit.
void visit_again(OpenCell& open, const Policy& policy, double seconds, double end, Session& session, const Visiting& visiting) {
    const std::string text = open.cell->text();
    std::vector<CellResult>& known = session.so_far[text];
    await_turn(open.visited + policy.between_visits, end);
    open.is_finished = true;
    enter(*open.cell, session, [&] {
        try {
            add_visit(known, visit(seconds, visiting));
            open.is_finished = is_visited_enough(known, policy);
        } catch (const Prevented& why) {
            if (known.empty()) throw;
            for (CellResult& result : known) result.cut_short = CutShort{why.code, why.what()};
            session.interrupted = session.interrupted || why.code != "budget";
        }
        if (!open.is_finished) return std::vector<CellResult>{};
        for (CellResult& result : known) result.converged = result.converged && is_settled(result, policy);
        return std::move(known);
    });
    open.visited = now();
    if (open.is_finished) session.so_far.erase(text);
}

}  // namespace

void measure_in_rounds(const std::vector<Cell>& cells, const Policy& policy, double begin, Session& session,
                       const Progress& progress,
                       const std::function<std::vector<CellResult>(const Cell&, double seconds, int round)>& visiting) {
    const double end = policy.budget > 0 ? begin + policy.budget : INFINITY;
    std::vector<OpenCell> open;
    for (const Cell& cell : cells) open.push_back({&cell});
    for (int round = 0; !open.empty(); ++round) {
        const double all = std::accumulate(open.begin(), open.end(), 0.0,
                                           [](double sum, const OpenCell& one) { return sum + weight(*one.cell); });
        Budget budget(policy.budget, begin, all);
        std::size_t done = 0;
        for (const std::size_t i : order_of_round(open.size(), round)) {
            const Cell& cell = *open[i].cell;
            const double seconds = budget.share(weight(cell));
            const std::string words = round == 0 ? cell.text() : cell.text() + ", visit " + std::to_string(round + 1);
            progress({done++, open.size(), words, {cell.text()}});
            visit_again(open[i], policy, seconds, end, session, [&](double most) { return visiting(cell, most, round); });
        }
        open.erase(std::remove_if(open.begin(), open.end(), [](const OpenCell& one) { return one.is_finished; }), open.end());
    }
}

}  // namespace nearfar
