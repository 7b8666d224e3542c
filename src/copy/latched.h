// One flow alone on pinned or device memory: copies queued behind a latch, so that the host's part is never measured.
#pragma once

#include <functional>

#include "cell/policy.h"
#include "cell/results.h"
#include "gpu/checked_series.h"
#include "gpu/gpu_handles.h"
#include "gpu/gpu_kernels.h"

namespace nearfar {

// Whether nothing that the cell queues waits for the stream while the queue is filled: behind a latch that would never end.
bool can_be_latched(const Cell& cell);

// What holds a series' stream until everything is queued, on the GPU that works through it.
class Latch {
public:
    Latch(QueuedSeries& series, double longest_seconds);
    ~Latch() { open(); }
    Latch(const Latch&) = delete;
    Latch& operator=(const Latch&) = delete;

    // A lap of the series, of which all is queued by `queue` before any of it begins; `meanwhile`, where there is one, is called as it
    // begins. Returns when it was over, on CLOCK_MONOTONIC. Throws Failure where something of it was left out, or the latch never held.
    double hold(const std::function<void()>& queue, const std::function<void()>& meanwhile = nullptr);
    // How long the last lap took, in seconds.
    double seconds() const { return seconds_between(start_.get(), stop_.get()); }

private:
    QueuedSeries& series_;
    double longest_seconds_;
    PinnedMemory<LatchFlag> flag_;  // as the host addresses it
    LatchFlag* flag_device_ = nullptr;
    GpuEvent start_;
    GpuEvent stop_;

    void open();
};

// The visit and its rate, without the cell, of a series that has begun, each of which counts `bytes`: `policy.samples` samples in at most about
// `seconds`; one at least. That none of a sample's is left out is seen between the samples. `is_warm`: some of it have just gone before.
// `under_load` is called once, while copies are under way. The calling thread is the one that drives. Throws Prevented where it was
// interrupted before the first.
CellResult measure_latched(QueuedSeries& series, Latch& latch, std::size_t bytes, const Policy& policy, double seconds,
                           bool is_warm, const std::function<void()>& under_load);

}  // namespace nearfar
