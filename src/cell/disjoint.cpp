#include "cell/disjoint.h"

#include <algorithm>
#include <map>
#include <set>

namespace nearfar {
namespace {

constexpr std::size_t least_company = 3;  // cells: nodes of four GPUs gain little

// Staged copies meet in host memory.
bool may_have_company(const Cell& cell) {
    const Flow& flow = cell.flows[0];
    return cell.aspect == Aspect::rates && cell.flows.size() == 1 && flow.is_peer_flow() && flow.tasks == 1 && !flow.staged;
}

bool share_a_gpu(const Flow& a, const Flow& b) {
    return a.source == b.source || a.source == b.destination || a.destination == b.source || a.destination == b.destination;
}

bool go_together(const Flow& a, const Flow& b) {
    return a.sm == b.sm && a.driver.has_value() == b.driver.has_value() && !share_a_gpu(a, b);
}

}  // namespace

std::vector<std::vector<std::size_t>> disjoint_sets(const std::vector<Cell>& cells,
                                                    const std::function<bool(const Flow&)>& has_own_links) {
    std::vector<std::vector<std::size_t>> sets;
    std::vector<bool> open;  // of each set: may others join it
    for (std::size_t i = 0; i < cells.size(); ++i) {
        const Flow& flow = cells[i].flows[0];
        const bool company = may_have_company(cells[i]) && has_own_links(flow);
        std::size_t place = company ? 0 : sets.size();
        // The first that fits: of all ordered pairs of 2, 4, 8 … GPUs, one way after the other, none is left over.
        while (place < sets.size() &&
               !(open[place] && std::all_of(sets[place].begin(), sets[place].end(),
                                            [&](std::size_t other) { return go_together(cells[other].flows[0], flow); })))
            ++place;
        if (place == sets.size()) {
            sets.emplace_back();
            open.push_back(company);
        }
        sets[place].push_back(i);
    }
    return sets;
}

std::vector<std::vector<std::size_t>> company_sets(const std::vector<Cell>& cells,
                                                   const std::function<bool(const Flow&)>& has_own_links,
                                                   const std::function<std::string(const Cell&)>& kind) {
    std::vector<std::vector<std::size_t>> found;
    std::set<std::string> kinds;
    std::map<std::string, int> times;
    for (const Cell& cell : cells) ++times[cell.key()];
    const auto may_join = [&](const Flow& flow) { return times[flow.text()] == 1 && has_own_links(flow); };
    for (const std::vector<std::size_t>& set : disjoint_sets(cells, may_join)) {
        std::vector<std::size_t> company;
        for (const std::size_t i : set) {
            if (set.size() < least_company || kinds.insert(kind(cells[i])).second)
                found.push_back({i});
            else
                company.push_back(i);
        }
        if (!company.empty()) found.push_back(company);
    }
    return found;
}

}  // namespace nearfar
