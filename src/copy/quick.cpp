#include "copy/quick.h"

#include <algorithm>

#include "copy/suspects.h"
#include "core/clock.h"
#include "core/interrupt.h"
#include "core/statistics.h"
#include "core/suspension.h"

namespace nearfar {
namespace {

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
                // Should it hang, nobody can know which of them does, and each is measured alone.
                progress_(step_of(done, cells.size(), members));
                members = measure_set(members, seconds);
            }
            for (const Cell& cell : members) {
                progress_(step_of(done, cells.size(), {cell}));
                const double share = seconds / static_cast<double>(set.size());
                look(cell, [&] { return visit(share, [&](double most) { return bench_.alone(cell, quick_, most, 0); }); });
            }
            done += set.size();
        }
    }

    // What is in no doubt becomes a result; returns the other cells.
    std::vector<Cell> take_suspects() {
        std::vector<Figure> figures;
        for (const CellResult& result : looked_) figures.push_back({bench_.kind(result.cell), result.total.median});
        const std::vector<std::size_t> doubted = suspects(figures);
        std::vector<Cell> cells;
        for (std::size_t i = 0; i < looked_.size(); ++i) {
            if (std::binary_search(doubted.begin(), doubted.end(), i)) {
                session_.so_far[looked_[i].cell.key()].clear();
                cells.push_back(looked_[i].cell);
            } else {
                session_.so_far.erase(looked_[i].cell.key());
                session_.results.push_back(std::move(looked_[i]));
            }
        }
        return cells;
    }

    void measure_again(const std::vector<Cell>& cells, double begin) {
        measure_in_rounds(cells, usual_, begin, session_, progress_, [&](const Cell& cell, double seconds, int round) {
            std::vector<CellResult> results = bench_.alone(cell, usual_, seconds, round);
            for (CellResult& result : results) result.remeasured = true;
            return results;
        });
    }

private:
    const Policy& usual_;
    const Policy quick_;
    Session& session_;
    const Progress& progress_;
    const QuickBench& bench_;
    std::vector<CellResult> looked_;  // in doubt until all were looked at

    // Keeps what is known of a cell, until all were looked at.
    void look(const Cell& cell, const std::function<std::vector<CellResult>()>& results) {
        enter(cell, session_, [&] {
            for (CellResult& result : results()) {
                session_.so_far[cell.key()] = {result};
                looked_.push_back(std::move(result));
            }
            return std::vector<CellResult>{};
        });
    }

    // Returns the cells that have to be measured alone.
    std::vector<Cell> measure_set(const std::vector<Cell>& members, double seconds) {
        const double start = now();
        std::vector<SetOutcome> outcomes = unless_suspended([&] { return bench_.together(members, quick_, seconds); });
        const double spent = now() - start;
        std::vector<Cell> left;
        for (std::size_t i = 0; i < members.size(); ++i) {
            if (!outcomes[i].result && !outcomes[i].trouble) {
                left.push_back(members[i]);
                continue;
            }
            look(members[i], [&] {
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
    usual.sample_seconds /= 2;
    usual.sample_chunks /= 2;
    return usual;
}

void measure_quickly(const std::vector<Cell>& cells, const std::vector<std::vector<std::size_t>>& sets, const Policy& usual,
                     double begin, Session& session, const Progress& progress, const QuickBench& bench) {
    QuickSession quick(usual, session, progress, bench);
    Budget budget(usual.budget, begin, weight(cells));
    quick.measure_sets(cells, sets, budget);
    quick.measure_again(quick.take_suspects(), begin);
}

}  // namespace nearfar
