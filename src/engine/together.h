// Threads that move chunks at the same time until a shared stop, counted in common sub-windows. Knows nothing of what moves.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "cell/policy.h"
#include "cell/results.h"
#include "engine/sampling.h"

namespace nearfar {

class Together;

// What one thread of a run sees of it.
class TogetherTask {
public:
    TogetherTask(Together& together, std::size_t me) : together_(together), me_(me) {}
    // Binds the thread; the binding in effect goes into the outcome.
    void bind(const std::vector<int>& cpus);
    // Waits until every thread is ready.
    void start();
    bool stopped() const;
    // A chunk was complete at a time on CLOCK_MONOTONIC.
    void complete(double time);
    // A chunk that was under way at the stop is complete: moved, but in no window.
    void drained();

private:
    Together& together_;
    std::size_t me_;
    bool started_ = false;
    friend class Together;
};

struct TogetherSpec {
    std::function<void(TogetherTask&)> body;
    std::size_t chunk;  // bytes
    std::size_t flow;   // which of the cell's flows it serves; ascending from 0
};

struct TogetherOutcome : WindowSamples {
    std::vector<std::vector<int>> cpus;  // each task's binding in effect
    std::vector<std::size_t> moved;      // bytes, by each task
};

// Runs until the medians of every flow and of their sum are known well enough, at most `seconds` (see Sampling). `under_load` is
// called once, while all move. Rethrows what a body throws.
TogetherOutcome run_together(const std::vector<TogetherSpec>& specs, const Policy& policy, double seconds,
                             const std::function<void()>& under_load);

}  // namespace nearfar
