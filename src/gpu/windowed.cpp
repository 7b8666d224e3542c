#include "gpu/windowed.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/clock.h"
#include "core/interrupt.h"
#include "gpu/gpu_handles.h"

namespace nearfar {
namespace {

constexpr std::size_t queued_chunks = 4;  // never fewer than three are left while one is waited for
constexpr int alignments = 5;
constexpr double least_probe_seconds = 0.001;  // in less, what the host takes to queue and to wait counts too much
constexpr double alignment_lasts = 1.0;        // seconds: the two clocks drift apart by some millionths, and so do their readings

// The events of one task: a ring for its chunks and a reference whose time on CLOCK_MONOTONIC is known.
class Events {
public:
    explicit Events(cudaStream_t stream) : stream_(stream) {
        for (GpuEvent& event : ring_) event = make_event(cudaEventBlockingSync);
    }

    // On an idle stream: the event happens between two readings of the clock, the closest pair tells when.
    void align() {
        double best = INFINITY;
        for (int i = 0; i < alignments; ++i) {
            GpuEvent trial = make_event();
            const double before = now();
            check(cudaEventRecord(trial.get(), stream_), "cudaEventRecord");
            check(cudaEventSynchronize(trial.get()), "cudaEventSynchronize");
            const double after = now();
            if (after - before < best) {
                best = after - before;
                std::swap(reference_, trial);
                reference_time_ = (before + after) / 2;
            }
        }
    }

    void record(std::size_t chunk) { check(cudaEventRecord(ring_[chunk % ring_.size()].get(), stream_), "cudaEventRecord"); }

    // Waits for a chunk and returns when it was complete.
    double wait(std::size_t chunk) {
        const cudaEvent_t event = ring_[chunk % ring_.size()].get();
        check(cudaEventSynchronize(event), "waiting for a chunk");
        return reference_time_ + seconds_between(reference_.get(), event);
    }

private:
    cudaStream_t stream_;
    GpuEvent reference_;
    double reference_time_ = 0;
    std::array<GpuEvent, queued_chunks> ring_;
};

}  // namespace

void begin_chunks(Route& route, std::size_t chunk) { route.begin_series(chunk, route.bytes() / chunk); }

void move_chunks(QueuedSeries& series, FlowThread& thread) {
    pump_chunks(
        series, [&] { return thread.stopped(); }, [&](double time) { thread.complete(time); }, [&] { thread.start(); });
}

void pump_chunks(QueuedSeries& series, const std::function<bool()>& stopped, const std::function<void(double)>& complete,
                 const std::function<void()>& ready) {
    series.make_current();
    Events events(series.stream());
    events.align();
    if (ready) ready();
    std::size_t queued = 0;
    std::size_t done = 0;
    double aligned = now();
    while (!stopped()) {
        if (now() > aligned + alignment_lasts) {
            for (; done < queued; ++done) complete(events.wait(done));
            events.align();
            aligned = now();
        }
        for (; queued < done + queued_chunks; ++queued) {
            series.queue_copies(1);
            events.record(queued);
        }
        complete(events.wait(done++));
    }
    for (; done < queued; ++done) complete(events.wait(done));
}

Mover checked_mover(Route& route, std::size_t chunk, std::size_t flow) {
    return {{[&route](FlowThread& thread) { move_chunks(route, thread); }, chunk, flow, route.cpus()},
            [&route, chunk] { begin_chunks(route, chunk); },
            [&route] { return route.verify(); }};
}

std::vector<Route> fitting_routes(const Flow& flow, const FlowBuffers& keys, Buffers& buffers, const Node& node,
                                  const std::vector<GpuDevice>& gpus, int threads, const ProbedRate& probed_rate) {
    std::size_t bytes = 0;
    {  // nobody uses the buffers while they are made anew
        std::vector<Route> routes = plan_routes(flow, keys, buffers, node, gpus, threads);
        bytes = buffer_for(probed_rate(routes[0]), flow.is_host_flow(), buffers.usual_bytes(keys.destination));
        if (!buffers.can_be_enlarged(keys, bytes)) return routes;
    }
    buffers.enlarge(keys, bytes);
    return plan_routes(flow, keys, buffers, node, gpus, threads);
}

double probe_rate(const Route& route, double seconds) {
    route.make_current();
    std::size_t bytes = std::min(route.bytes(), std::size_t{route.flow().stays_on_gpus() ? 256U : 32U} << 20);
    const double end = now() + seconds;
    double before = 0;
    double rate = 0;
    bool too_short = false;
    do {
        before = rate;
        const double start = now();
        for (int i = 0; i < 2; ++i) route.queue_copy(bytes);
        check(cudaStreamSynchronize(route.stream()), "warming up");
        const double took = now() - start;
        rate = 2 * static_cast<double>(bytes) / took / 1e9;
        too_short = took < least_probe_seconds && bytes < route.bytes();
        if (too_short) bytes = std::min(4 * bytes, route.bytes());
    } while ((too_short || before == 0 || std::abs(rate - before) > 0.02 * rate) && now() < end && !interrupted());
    return rate;
}

}  // namespace nearfar
