// One flow alone on pinned or device memory: copies queued behind a latch, so that the host's part is never measured.
#pragma once

#include <functional>

#include "cell/policy.h"
#include "core/visits.h"
#include "gpu/gpu_kernels.h"
#include "gpu/queued_series.h"

namespace nearfar {

// Whether nothing that the cell queues waits for the stream while the queue is filled: behind a latch that would never end.
bool can_be_latched(const Cell& cell);

// What holds a stream until everything is queued, and the events around what is queued, on the GPU that drives a route.
class Latch {
public:
    explicit Latch(const QueuedSeries& series);
    ~Latch();  // opens it
    Latch(const Latch&) = delete;
    Latch& operator=(const Latch&) = delete;

    void close(cudaStream_t stream, double longest_seconds);
    void open();
    bool has_timed_out() const { return flag_->timed_out != 0; }
    cudaEvent_t start() const { return start_; }
    cudaEvent_t stop() const { return stop_; }

private:
    LatchFlag* flag_ = nullptr;  // as the host addresses it
    LatchFlag* flag_device_ = nullptr;
    cudaEvent_t start_ = nullptr;
    cudaEvent_t stop_ = nullptr;
};

class LatchedSampler {
public:
    // Of a series that has begun, each of which counts `bytes`. That none of a sample's is left out is seen between the samples.
    LatchedSampler(QueuedSeries& series, Latch& latch, std::size_t bytes, const Policy& policy)
        : series_(series), latch_(latch), bytes_(bytes), policy_(policy) {}

    struct Outcome {
        Summary rate;
        Visit visit;
        bool complete = false;  // all samples that were asked for
    };

    // Takes `policy.samples` samples in at most about `seconds`; one at least. `is_warm`: some of it have just gone before.
    // `under_load` is called once, while copies are under way.
    // The calling thread is the one that drives. Throws Prevented where it was interrupted before the first.
    Outcome measure(double seconds, bool is_warm, const std::function<void()>& under_load);

private:
    QueuedSeries& series_;
    Latch& latch_;
    std::size_t bytes_;
    const Policy& policy_;

    // Rate of `copies` copies in GB/s.
    double sample(int copies, const std::function<void()>& under_load);
    double warm_up(double seconds, const std::function<void()>& under_load);
};

}  // namespace nearfar
