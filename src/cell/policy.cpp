#include "cell/policy.h"

#include <algorithm>

namespace nearfar {

namespace {

constexpr int least_tail_visits = 5;
constexpr int most_transfers = 500;  // in a visit
constexpr double between_latencies = 0.1;

}  // namespace

int tail_visits(const Policy& policy) {
    const int usual = std::max(least_tail_visits, (policy.tail + most_transfers - 1) / most_transfers);
    return std::min(policy.visits > 0 ? policy.visits : usual, policy.tail);
}

double between_visits(const Cell& cell, const Policy& policy) {
    return cell.aspect == Aspect::latency ? std::min(between_latencies, policy.between_visits) : policy.between_visits;
}

VisitsFor visits_for(const Cell& cell, const Policy& policy) {
    if (cell.aspect == Aspect::tail) return {tail_visits(policy), tail_visits(policy), 0};
    if (const int visits = cell.visits > 0 ? cell.visits : policy.visits) return {visits, visits, 0.01};
    const int least = policy.least_visits;
    const int most = policy.most_visits;
    if (cell.aspect == Aspect::latency) return {std::min(least + 1, most), std::min(least + 3, most), 0.03};
    if (cell.aspect == Aspect::sizes) return {std::min(2, most), std::min(2, most), 0.01};
    if (is_shared_by_tasks(cell)) return {least, least, 0.01};
    const auto on_gpus = [](const Flow& flow) { return flow.stays_on_gpus() || (flow.is_gpu_stream_flow() && flow.to_gpu()); };
    if (std::all_of(cell.flows.begin(), cell.flows.end(), [&](const Flow& flow) { return on_gpus(flow) && !flow.staged; }))
        return {std::min(least, 2), std::min(least + 2, most), cell.flows.size() > 1 ? 0.01 : 0.003};
    const bool by_cores = std::any_of(cell.flows.begin(), cell.flows.end(),
                                      [](const Flow& flow) { return flow.is_stream_flow() || flow.staged || flow.pageable; });
    if (cell.flows.size() > 1 || by_cores) return {least, std::min(least + 2, most), 0.01};
    return {least, most, 0.003};
}

}  // namespace nearfar
