// Threads that move bytes at the same time: bound, held at a common start, told when to stop, each completion written down. Windows
// that last until there are enough samples, windows between agreed times, and loads in the background all run on it. Knows nothing
// of what moves.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <limits>
#include <mutex>
#include <thread>
#include <vector>

#include "cell/policy.h"
#include "engine/sampling.h"
#include "engine/window.h"

namespace nearfar {

class Engine;
class FlowThread;

// What one thread is to do.
struct FlowWork {
    std::function<void(FlowThread&)> body;  // moves chunks from start() until stopped()
    std::size_t chunk;                      // bytes, or operations of what computes
    std::size_t flow = 0;                   // which of the cell's flows it serves; ascending from 0
    std::vector<int> cpus = {};             // the thread is bound to them before the body is called; none: it is not bound
    bool is_counted = true;                 // in the window's total
};

// One thread of an engine, as the body that runs on it and the engine's owner see it.
class FlowThread {
public:
    FlowThread(Engine& engine, FlowWork work);

    // For the body. Waits for the common start, or for the stop where that comes first.
    void start();
    bool stopped() const;
    // A chunk was complete at a time on CLOCK_MONOTONIC; those that were under way at the stop count too.
    void complete(double time);

    // For the owner, at any time.
    std::size_t flow() const { return work_.flow; }
    CompletionLog log() const;
    // Time of the latest completion; -infinity before the first.
    double latest() const;
    bool has_ended() const;
    // What it threw. A thread that was refused has ended with that.
    std::exception_ptr trouble() const;
    // The binding in effect, once it waits for the start; empty: it was not bound.
    const std::vector<int>& cpus() const { return cpus_; }

private:
    friend class Engine;
    Engine& engine_;
    const FlowWork work_;
    std::vector<int> cpus_;
    bool ready_ = false;  // these three under the engine's mutex
    bool ended_ = false;
    std::exception_ptr trouble_;
    mutable std::mutex log_mutex_;
    CompletionLog log_;
    std::thread thread_;

    void end(const std::exception_ptr& trouble);
};

class Engine {
public:
    explicit Engine(const std::vector<FlowWork>& work);
    // Stops.
    ~Engine();
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;

    const std::deque<FlowThread>& threads() const { return threads_; }
    std::vector<CompletionLog> logs() const;
    // Throws what the first of those that threw has thrown.
    void require() const;

    // Waits until each thread is at its start, or has ended before; throws as require() does.
    void await_ready();
    // Lets all start, at once or at a time on CLOCK_MONOTONIC, and stop at another, or when the owner says so.
    void begin(double start = 0, double stop = std::numeric_limits<double>::infinity());
    // Waits until all have ended.
    void join();
    // Tells all to stop, and waits until they have ended.
    void stop();

private:
    friend class FlowThread;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    bool begun_ = false;
    double start_ = 0;
    std::atomic<double> stop_{std::numeric_limits<double>::infinity()};
    std::deque<FlowThread> threads_;
};

struct WindowOutcome : WindowSamples {
    std::vector<std::vector<int>> cpus;  // each thread's binding in effect
};

// Runs the engine until there are `policy.samples` samples, at most `seconds` (see Sampling).
// `under_load` is called once, while all move. Throws what a thread threw, and Prevented where there was too little for a rate.
WindowOutcome run_window(Engine& engine, const Policy& policy, double seconds, const std::function<void()>& under_load);

}  // namespace nearfar
