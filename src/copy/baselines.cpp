#include "copy/baselines.h"

#include "engine/checked_run.h"
#include "gpu/route_plan.h"
#include "node/cpus.h"

namespace nearfar {

double Baselines::probed_rate(const Route& route, const Policy& policy) {
    const auto known = probed_.find(route.flow().text());
    if (known != probed_.end()) return known->second;
    bind_thread(route.cpus());
    return probed_[route.flow().text()] = probe_rate(route, policy.warm_up_seconds);
}

const Summary& Baselines::solo(const Flow& flow, ChunkLength length, const Policy& policy, double seconds) {
    const Flow one = flow.alone();
    const auto known = solos_.find({one.text(), length});
    if (known != solos_.end()) return known->second;
    std::vector<Route> routes = plan_routes(one, buffers_of(Cell{{one}})[0], buffers_, node_, gpus_, 1);
    const std::size_t chunk = chunk_for(probed_rate(routes[0], policy), routes[0].bytes(), length);
    const CheckedOutcome checked =
        run_checked({checked_mover(routes[0], chunk, 0)}, window_policy(policy, length), seconds, nullptr);
    checked.require();
    return solos_[{one.text(), length}] = checked.moved.rates[0];
}

Policy window_policy(const Policy& policy, ChunkLength length) {
    Policy found = policy;
    if (length == ChunkLength::long_one) found.sample_chunks = (found.sample_chunks + 1) / 2;
    return found;
}

}  // namespace nearfar
