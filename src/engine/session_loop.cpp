#include "engine/session_loop.h"

#include <cmath>
#include <numeric>

#include "cell/matrix.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/interrupt.h"
#include "core/trouble.h"

namespace nearfar {
namespace {

constexpr double least_cell_seconds = 0.02;

constexpr double window_weight = 6;

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

void measure_one(const Cell& cell, double seconds, Session& session, const std::function<std::vector<CellResult>()>& measure) {
    enter(cell, session, [&] {
        if (interrupted()) throw Prevented("interrupted", "interrupted before it was measured");
        if (seconds < least_cell_seconds) throw Prevented("budget", "the budget was used up before it was measured");
        const double start = now();
        std::vector<CellResult> results = measure();
        for (CellResult& result : results) result.seconds = (now() - start) / static_cast<double>(results.size());
        return results;
    });
}

void measure_in_order(const std::vector<Cell>& cells, const Policy& policy, double begin, Session& session,
                      const Progress& progress, const std::function<std::vector<CellResult>(const Cell&, double)>& measure) {
    Budget budget(policy.budget, begin, weight(cells));
    for (std::size_t i = 0; i < cells.size(); ++i) {
        const double seconds = budget.share(weight(cells[i]));
        progress(i, cells.size(), cells[i].text());
        measure_one(cells[i], seconds, session, [&] { return measure(cells[i], seconds); });
    }
}

}  // namespace nearfar
