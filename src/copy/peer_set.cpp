#include "copy/measure_cell.h"

#include <algorithm>

#include "core/error.h"
#include "engine/checked_run.h"
#include "gpu/route_plan.h"
#include "gpu/windowed.h"

namespace nearfar {
namespace {

// A cell that is ready to move.
struct Ready {
    std::size_t place;  // among the cells
    std::vector<Route> routes;
    std::size_t chunk;

    Route& route() { return routes[0]; }
};

Ready make_ready(const std::vector<Cell>& cells, std::size_t place, const Policy& policy, CopySetting& setting) {
    const Flow& flow = cells[place].flows[0];
    require_gpus(flow, setting.gpus);
    setting.peers.arrange(cells[place]);
    std::vector<Route> routes = setting.baselines.fitting_routes(flow, buffers_of(cells[place])[0], 1, policy);
    const std::size_t chunk =
        chunk_for(setting.baselines.probed_rate(routes[0], policy), routes[0].bytes(), ChunkLength::short_one);
    return {place, std::move(routes), chunk};
}

CellResult result_of(const Cell& cell, Ready& ready, const CheckedOutcome& outcome, std::size_t mover, const LinkState& link,
                     const std::vector<GpuDevice>& gpus) {
    const Summary& rate = outcome.moved.rates[mover];
    CellResult result;
    result.cell = cell;
    result.bytes = ready.chunk;
    result.method = "windowed";
    result.converged = outcome.moved.complete;
    result.visits = {{outcome.moved.begin, outcome.moved.end, rate.n()}};
    result.verified = outcome.verified[mover];
    result.verify_seconds = outcome.verify_seconds / static_cast<double>(outcome.trouble.size());
    result.total = rate;
    result.flows.push_back(flow_result(ready.route(), rate, outcome.moved.cpus[mover], link, gpus));
    return result;
}

}  // namespace

std::vector<SetOutcome> measure_peer_set(const std::vector<Cell>& cells, const Policy& policy, double seconds,
                                         CopySetting& setting) {
    std::vector<SetOutcome> outcomes(cells.size());
    std::vector<Ready> ready;
    for (std::size_t i = 0; i < cells.size(); ++i) {
        try {
            ready.push_back(make_ready(cells, i, policy, setting));
        } catch (const Prevented&) {
            outcomes[i].trouble = std::current_exception();
        } catch (const Failure&) {
            outcomes[i].trouble = std::current_exception();
        }
    }
    if (ready.size() < 2) return outcomes;
    std::vector<Mover> movers;
    for (Ready& one : ready) movers.push_back(checked_mover(one.route(), one.chunk, movers.size()));
    std::vector<LinkState> links(ready.size());
    CheckedOutcome checked;
    try {
        checked = run_checked(movers, policy, std::min(seconds, policy.windowed_seconds), [&] {
            for (std::size_t i = 0; i < ready.size(); ++i) links[i] = setting.opened.look(ready[i].route().gpu());
        });
    } catch (const Prevented&) {
        return outcomes;  // interrupted, or too slow together: alone they are told in their own words
    }
    for (std::size_t i = 0; i < ready.size(); ++i) {
        SetOutcome& outcome = outcomes[ready[i].place];
        outcome.trouble = checked.trouble[i];
        if (outcome.trouble || checked.moved.rates.empty() || checked.moved.rates[i].min <= 0) continue;
        outcome.result = result_of(cells[ready[i].place], ready[i], checked, i, links[i], setting.gpus);
        for (Ready& other : ready)
            if (other.place != ready[i].place) outcome.result->beside.push_back(other.route().flow().text());
    }
    return outcomes;
}

}  // namespace nearfar
