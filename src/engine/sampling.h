// When a window has enough samples, and how long each must be: looks at the completions of its flows as they grow. Pure.
#pragma once

#include <cstddef>
#include <vector>

#include "cell/policy.h"
#include "core/statistics.h"
#include "engine/window.h"

namespace nearfar {

struct WindowSamples {
    std::vector<Summary> rates;      // one for each flow, its tasks together, GB/s
    std::vector<double> task_rates;  // each task's median, GB/s; 0 for a starved one
    Summary total;
    bool complete = false;  // all samples that were asked for, and no flow had stopped
    double begin = 0;       // of the samples, on CLOCK_MONOTONIC
    double end = 0;
};

class Sampling {
public:
    // `flows`: which of the cell's flows each log is a task of, ascending from 0. At most `seconds`; three times as long where the
    // flows are too slow for one sub-window. Times are of CLOCK_MONOTONIC.
    Sampling(std::vector<std::size_t> flows, const Policy& policy, double begin, double seconds);

    // Whether all have begun to move; after a while, whether any has.
    bool moving(const std::vector<CompletionLog>& logs, double time) const;
    // Whether there are `policy.samples`, or time is up. Every sample is a sub-window in which each flow that moves completed
    // `policy.sample_chunks` chunks or more, on average over its tasks; where one did not, sub-windows are made longer and looked at anew.
    bool enough(const std::vector<CompletionLog>& logs, double time);
    // What is known at the end, at `time`; no rates where not one sub-window fits. Where time was up, or it was interrupted, all that
    // fit are summarised.
    WindowSamples finish(const std::vector<CompletionLog>& logs, double time);

private:
    const std::vector<std::size_t> flows_;
    const Policy& policy_;
    const double begin_;
    const double seconds_;
    double length_ = 0;  // of a sub-window
    SubWindows windows_;
    WindowSamples samples_;

    double first_length(const std::vector<CompletionLog>& logs) const;
    double fewest_chunks(const std::vector<CompletionLog>& logs) const;
    void divide(const std::vector<CompletionLog>& logs);
    void start_anew(double longer);
    void summarise_first(std::size_t count);
};

}  // namespace nearfar
