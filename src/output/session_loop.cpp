#include "output/session_loop.h"

#include <cmath>
#include <new>
#include <numeric>
#include <system_error>

#include "cell/matrix.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/interrupt.h"

namespace nearfar {
namespace {

constexpr double least_cell_seconds = 0.02;

constexpr double window_weight = 6;

// What starting a thread throws.
std::string no_thread_words(const std::system_error& error) {
    return std::string("no thread could be started (") + error.what() + "): raise `ulimit -u` or the cgroup's pids.max";
}

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

double weight(const std::vector<Cell>& cells) {
    return std::accumulate(cells.begin(), cells.end(), 0.0, [](double sum, const Cell& cell) { return sum + weight(cell); });
}

Budget::Budget(double seconds, double begin, double weight) : end_(seconds > 0 ? begin + seconds : INFINITY), left_(weight) {}

double Budget::share(double weight) {
    const double seconds = (end_ - now()) * weight / left_;
    left_ -= weight;
    return seconds;
}

void enter(const Cell& cell, Session& session, std::mutex& mutex, const std::function<std::vector<CellResult>()>& results) {
    try {
        std::vector<CellResult> found = results();
        const std::lock_guard<std::mutex> lock(mutex);
        for (CellResult& result : found) session.results.push_back(std::move(result));
    } catch (const Prevented& why) {
        const std::lock_guard<std::mutex> lock(mutex);
        session.skipped.push_back({cell.text(), why.code, why.what()});
    } catch (const Failure& why) {
        const std::lock_guard<std::mutex> lock(mutex);
        session.failed.push_back({cell.text(), why.code, why.what()});
    } catch (const ProcessSpent& why) {
        const std::lock_guard<std::mutex> lock(mutex);
        session.spent = why.what();
    } catch (const std::bad_alloc&) {
        const std::lock_guard<std::mutex> lock(mutex);
        session.skipped.push_back(
            {cell.text(), "no_memory", "this process was refused memory: see `ulimit -v` and the job's limit"});
    } catch (const std::system_error& error) {
        const std::lock_guard<std::mutex> lock(mutex);
        session.skipped.push_back({cell.text(), "not_allowed", no_thread_words(error)});
    }
}

void measure_one(const Cell& cell, double seconds, Session& session, std::mutex& mutex,
                 const std::function<std::vector<CellResult>()>& measure) {
    enter(cell, session, mutex, [&] {
        if (interrupted()) throw Prevented("interrupted", "interrupted before it was measured");
        if (seconds < least_cell_seconds) throw Prevented("budget", "the budget was used up before it was measured");
        const double start = now();
        std::vector<CellResult> results = measure();
        for (CellResult& result : results) result.seconds = (now() - start) / static_cast<double>(results.size());
        return results;
    });
}

void measure_in_order(const std::vector<Cell>& cells, const Policy& policy, double begin, Session& session, std::mutex& mutex,
                      const Progress& progress, const std::function<std::vector<CellResult>(const Cell&, double)>& measure) {
    Budget budget(policy.budget, begin, weight(cells));
    for (std::size_t i = 0; i < cells.size(); ++i) {
        const double seconds = budget.share(weight(cells[i]));
        progress(i, cells.size(), cells[i].text());
        measure_one(cells[i], seconds, session, mutex, [&] { return measure(cells[i], seconds); });
    }
}

}  // namespace nearfar
