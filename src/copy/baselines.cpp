#include "copy/baselines.h"

#include <algorithm>

#include "gpu/route_plan.h"
#include "node/cpus.h"

namespace nearfar {
namespace {

constexpr int long_sample_chunks = 3;  // of 4.8 ms: a sample takes as long as one of ten short ones

}  // namespace

Baselines::Baselines(const Node& node, const std::vector<GpuDevice>& gpus, Buffers& buffers, KernelsBesideCopies& beside,
                     const std::vector<Cell>& cells)
    : node_(node), gpus_(gpus), buffers_(buffers), beside_(beside) {
    for (const Cell& cell : cells)
        if (cell.aspect == Aspect::rates && cell.flows.size() == 1) cells_.insert(cell.flows[0].text());
}

double Baselines::probed_rate(const Route& route, const Policy& policy) {
    const auto known = probed_.find(route.flow().text());
    if (known != probed_.end()) return known->second;
    bind_thread(route.cpus());
    return probed_[route.flow().text()] = probe_rate(route, policy.warm_up_seconds);
}

std::vector<Route> Baselines::fitting_routes(const Flow& flow, const FlowBuffers& keys, int threads, const Policy& policy) {
    return nearfar::fitting_routes(flow, keys, buffers_, node_, gpus_, threads,
                                   [&](const Route& route) { return probed_rate(route, policy); });
}

bool Baselines::has_solo(const Flow& flow, ChunkLength length, int round) const {
    const auto known = solos_.find({flow.alone().text(), length});
    return known != solos_.end() && known->second.round >= round;
}

const Summary& Baselines::solo(const Flow& flow, ChunkLength length, const Policy& policy, double seconds, int round) {
    const Flow one = flow.alone();
    const bool is_known = has_solo(flow, length, round);
    Solo& solo = solos_[{one.text(), length}];
    if (is_known) return solo.rate;
    const CheckedOutcome checked = run_alone(one, length, policy, seconds);
    checked.require();
    const WindowOutcome& moved = checked.moved;
    solo.visits.push_back({moved.begin, moved.end, moved.rates[0].n()});
    solo.rate = joined(solo.rate, moved.rates[0], solo.visits);
    solo.round = round;
    return solo.rate;
}

CheckedOutcome Baselines::run_alone(const Flow& flow, ChunkLength length, const Policy& policy, double seconds) {
    if (!flow.is_copy()) return run_checked(beside_.of(flow, 0).movers, window_policy(policy, length), seconds, nullptr);
    std::vector<Route> routes = plan_routes(flow, buffers_of(Cell{{flow}})[0], buffers_, node_, gpus_, 1);
    const std::size_t chunk = chunk_for(probed_rate(routes[0], policy), routes[0].bytes(), length);
    return run_checked({checked_mover(routes[0], chunk, 0)}, window_policy(policy, length), seconds, nullptr);
}

Policy window_policy(const Policy& policy, ChunkLength length) {
    Policy found = policy;
    if (length == ChunkLength::long_one) found.sample_chunks = long_sample_chunks;
    return found;
}

}  // namespace nearfar
