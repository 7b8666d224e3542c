#include "copy/quick.h"

#include "copy/suspects.h"
#include "core/clock.h"
#include "core/interrupt.h"
#include "core/statistics.h"

namespace nearfar {
namespace {

Cell joined(const std::vector<Cell>& cells) {
    Cell all;
    for (const Cell& cell : cells) all.flows.insert(all.flows.end(), cell.flows.begin(), cell.flows.end());
    return all;
}

class QuickSession {
public:
    QuickSession(const Policy& usual, Session& session, const Progress& progress, const QuickBench& bench)
        : usual_(usual), quick_(quick_policy(usual)), session_(session), progress_(progress), bench_(bench) {}

    void measure_sets(const std::vector<Cell>& cells, const std::vector<std::vector<std::size_t>>& sets, Budget& budget) {
        std::size_t done = 0;
        for (const std::vector<std::size_t>& set : sets) {
            std::vector<Cell> members;
            for (const std::size_t i : set) members.push_back(cells[i]);
            const double seconds = budget.share(weight(members));
            if (members.size() > 1 && seconds > 0 && !interrupted()) {
                // Its cells as one: should it hang, nobody can know which of them does, and each is measured alone.
                progress_(done, cells.size(), joined(members).text());
                members = measure_set(members, seconds);
            }
            for (const Cell& cell : members) {
                progress_(done, cells.size(), cell.text());
                const double share = seconds / static_cast<double>(set.size());
                measure_one(cell, share, session_, [&] { return bench_.alone(cell, quick_, share); });
            }
            done += set.size();
        }
    }

    // Not in the session while they are in doubt: should the program have to end there, they count as not measured.
    std::vector<Cell> take_suspects() {
        std::vector<Figure> figures;
        for (const CellResult& result : session_.results) figures.push_back({bench_.kind(result.cell), result.total.median});
        const std::vector<std::size_t> doubted = suspects(figures);
        std::vector<Cell> cells;
        for (const std::size_t i : doubted) cells.push_back(session_.results[i].cell);
        for (auto i = doubted.rbegin(); i != doubted.rend(); ++i)
            session_.results.erase(session_.results.begin() + static_cast<std::ptrdiff_t>(*i));
        return cells;
    }

    void measure_again(const std::vector<Cell>& cells, Budget& budget) {
        for (std::size_t i = 0; i < cells.size(); ++i) {
            progress_(i, cells.size(), cells[i].text());
            const double seconds = budget.share(weight(cells[i]));
            measure_one(cells[i], seconds, session_, [&] {
                std::vector<CellResult> results = bench_.alone(cells[i], usual_, seconds);
                for (CellResult& result : results) result.remeasured = true;
                return results;
            });
        }
    }

private:
    const Policy& usual_;
    const Policy quick_;
    Session& session_;
    const Progress& progress_;
    const QuickBench& bench_;

    // Returns the cells that have to be measured alone.
    std::vector<Cell> measure_set(const std::vector<Cell>& members, double seconds) {
        const double start = now();
        std::vector<SetOutcome> outcomes = bench_.together(members, quick_, seconds);
        const double spent = now() - start;
        std::vector<Cell> left;
        for (std::size_t i = 0; i < members.size(); ++i) {
            if (!outcomes[i].result && !outcomes[i].trouble) {
                left.push_back(members[i]);
                continue;
            }
            enter(members[i], session_, [&] {
                if (outcomes[i].trouble) std::rethrow_exception(outcomes[i].trouble);
                outcomes[i].result->seconds = spent / static_cast<double>(members.size());
                return std::vector<CellResult>{*outcomes[i].result};
            });
        }
        return left;
    }
};

}  // namespace

Policy quick_policy(Policy usual) {
    usual.most_samples = looks.front();
    usual.sample_seconds /= 2;
    usual.sample_chunks /= 2;
    return usual;
}

void measure_quickly(const std::vector<Cell>& cells, const std::vector<std::vector<std::size_t>>& sets, const Policy& usual,
                     double begin, Session& session, const Progress& progress, const QuickBench& bench) {
    QuickSession quick(usual, session, progress, bench);
    Budget budget(usual.budget, begin, weight(cells));
    quick.measure_sets(cells, sets, budget);
    const std::vector<Cell> doubted = quick.take_suspects();
    Budget rest(usual.budget, begin, weight(doubted));
    quick.measure_again(doubted, rest);
}

}  // namespace nearfar
