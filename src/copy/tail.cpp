#include "copy/measure_cell.h"

#include <algorithm>
#include <array>
#include <utility>

#include "copy/latched.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/interrupt.h"
#include "gpu/gpu_call.h"
#include "gpu/route_plan.h"
#include "node/cpus.h"

namespace nearfar {
namespace {

// An event tells time to about 0.5 us, and a copy of this size takes 0.3 ms over PCIe 5 x16 and 40 us over 18 lanes of NVLink 4: that is 1 %
// of it at most. A larger one would hide a disturbance of a few microseconds, and take longer.
constexpr std::size_t transfer_bytes = std::size_t{16} << 20;
constexpr std::size_t batch = 25;  // with an event after each: as much as is safe to queue behind a closed latch

// Of all that are asked for, those of this visit.
int share_of_visit(const Policy& policy, int round) {
    const int visits = tail_visits(policy);
    const auto until = [&](int visit) { return static_cast<int>(static_cast<long long>(policy.tail) * visit / visits); };
    return until(round % visits + 1) - until(round % visits);
}

}  // namespace

std::vector<CellResult> measure_tail(const Cell& cell, const Policy& policy, double seconds, CopySetting& setting) {
    if (!can_be_latched(cell))
        throw Prevented("unsupported", cell.text() + ": --tail is for one flow alone on pinned or device memory");
    std::vector<Route> routes = plan_routes(cell.flows[0], buffers_of(cell)[0], setting.buffers, setting.node, setting.gpus, 1);
    Route& route = routes[0];
    const std::vector<int> cpus = bind_thread(route.cpus());
    const std::size_t bytes = std::min(transfer_bytes, route.bytes());
    const double begin = now();
    route.begin_series(bytes, 1);
    Latch latch(route, policy.latch_seconds);
    std::array<GpuEvent, batch + 1> events;
    for (GpuEvent& event : events) event = make_event();
    const double poisoned = now();
    const double end = poisoned + std::min(seconds, policy.hang_seconds / 2);
    const int wanted = share_of_visit(policy, setting.round);
    int left = wanted;
    const LinkState link = setting.opened.look(route.gpu());
    std::vector<double> times;  // us
    Slowest slowest;
    while (left > 0 && (left == wanted || now() < end) && !interrupted()) {
        const auto transfers = std::min(static_cast<std::size_t>(left), batch);
        // The first copy behind the latch wakes the engine and is in no figure.
        const double over = latch.hold([&] {
            for (std::size_t i = 0; i <= transfers; ++i) {
                route.queue_copies(1);
                check(cudaEventRecord(events[i].get(), route.stream()), "cudaEventRecord");
            }
        });
        for (std::size_t i = 0; i < transfers; ++i) {
            times.push_back(seconds_between(events[i].get(), events[i + 1].get()) * 1e6);
            if (times.back() > slowest.time)
                slowest = {times.back(), over - seconds_between(events[i].get(), events[transfers].get())};
        }
        left -= static_cast<int>(transfers);
    }
    if (left == wanted) throw Prevented("interrupted", "interrupted while it was measured");
    const double measured = now();
    CellResult result;
    result.verified = route.verify();
    result.verify_seconds = poisoned - begin + now() - measured;
    result.quantity = "tail";
    result.unit = "us";
    result.cell = cell;
    result.method = "latched";
    result.bytes = bytes;
    result.converged = left == 0;
    result.visits = {{poisoned, measured, times.size()}};
    result.total = summarise(std::move(times));
    result.slowest = slowest;
    result.flows.push_back(flow_result(route, result.total, cpus, link, setting.gpus));
    result.flows[0].ceiling.reset();  // of the rate, not of this
    return {std::move(result)};
}

}  // namespace nearfar
