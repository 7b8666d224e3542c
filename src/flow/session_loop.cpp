#include "flow/session_loop.h"

#include <cmath>

#include "flow/clock.h"
#include "flow/error.h"
#include "flow/interrupt.h"
#include "flow/matrix.h"

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
    const bool lone = cell.flows.size() == 1 && cell.flows[0].tasks == 1 && !cell.flows[0].pageable;
    return lone ? 1 : window_weight;
}

void measure_in_order(const std::vector<Cell>& cells, const Policy& policy, double begin, Session& session, std::mutex& mutex,
                      const Progress& progress, const std::function<std::vector<CellResult>(const Cell&, double)>& measure) {
    const double end = policy.budget > 0 ? begin + policy.budget : INFINITY;
    double left = 0;  // the weight of what is still to be measured
    for (const Cell& cell : cells) left += weight(cell);
    for (std::size_t i = 0; i < cells.size(); ++i) {
        const std::string text = cells[i].text();
        const double share = (end - now()) * weight(cells[i]) / left;
        left -= weight(cells[i]);
        progress(i, cells.size(), text);
        try {
            if (interrupted()) throw Prevented("interrupted", "interrupted before it was measured");
            if (share < least_cell_seconds) throw Prevented("budget", "the budget was used up before it was measured");
            const double start = now();
            std::vector<CellResult> results = measure(cells[i], share);
            const std::lock_guard<std::mutex> lock(mutex);
            for (CellResult& result : results) {
                result.seconds = (now() - start) / static_cast<double>(results.size());
                session.results.push_back(std::move(result));
            }
        } catch (const Prevented& why) {
            const std::lock_guard<std::mutex> lock(mutex);
            session.skipped.push_back({text, why.code, why.what()});
        } catch (const Failure& why) {
            const std::lock_guard<std::mutex> lock(mutex);
            session.failed.push_back({text, why.code, why.what()});
        }
    }
}

}  // namespace nearfar
