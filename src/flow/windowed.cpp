#include "flow/windowed.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

#include "flow/clock.h"
#include "flow/cpus.h"
#include "flow/error.h"
#include "flow/gpu_call.h"
#include "flow/interrupt.h"
#include "flow/window.h"

namespace nearfar {
namespace {

constexpr int queued_chunks = 4;       // never fewer than three are left while one is waited for
constexpr double settle_seconds = 0.004;
constexpr double least_sub_window = 0.010;
constexpr int chunks_per_sub_window = 10;
constexpr double look_interval = 0.004;
constexpr int alignments = 5;
constexpr double long_autocorrelation = 0.6;

// All threads start together; one that fails before lets nobody wait for ever.
class Start {
public:
    explicit Start(std::size_t count) : missing_(count) {}
    void arrive_and_wait() {
        std::unique_lock<std::mutex> lock(mutex_);
        if (--missing_ == 0) all_.notify_all();
        all_.wait(lock, [this] { return missing_ == 0; });
    }
    void leave() {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (missing_ > 0 && --missing_ == 0) all_.notify_all();
    }

private:
    std::mutex mutex_;
    std::condition_variable all_;
    std::size_t missing_;
};

struct Shared {
    explicit Shared(std::size_t tasks) : start(tasks), logs(tasks), cpus(tasks), errors(tasks) {}
    Start start;
    std::atomic<bool> stop{false};
    std::atomic<std::size_t> running{0};
    std::mutex mutex;  // guards the logs
    std::vector<CompletionLog> logs;
    std::vector<std::vector<int>> cpus;
    std::vector<std::exception_ptr> errors;
};

// The events of one task: a ring for its chunks and a reference whose time on CLOCK_MONOTONIC is known.
class Events {
public:
    explicit Events(cudaStream_t stream) : stream_(stream) {
        check(cudaEventCreate(&reference_), "cudaEventCreate");
        for (cudaEvent_t& event : ring_) check(cudaEventCreateWithFlags(&event, cudaEventBlockingSync), "cudaEventCreate");
    }
    ~Events() {
        if (reference_ != nullptr) cudaEventDestroy(reference_);
        for (const cudaEvent_t event : ring_)
            if (event != nullptr) cudaEventDestroy(event);
    }
    Events(const Events&) = delete;
    Events& operator=(const Events&) = delete;

    // On an idle stream: the event happens between two readings of the clock, the closest pair tells when.
    void align() {
        double best = INFINITY;
        for (int i = 0; i < alignments; ++i) {
            cudaEvent_t trial = nullptr;
            check(cudaEventCreate(&trial), "cudaEventCreate");
            const double before = now();
            check(cudaEventRecord(trial, stream_), "cudaEventRecord");
            check(cudaEventSynchronize(trial), "cudaEventSynchronize");
            const double after = now();
            if (after - before < best) {
                best = after - before;
                std::swap(reference_, trial);
                reference_time_ = (before + after) / 2;
            }
            cudaEventDestroy(trial);
        }
    }

    void record(std::size_t chunk) { check(cudaEventRecord(ring_[chunk % ring_.size()], stream_), "cudaEventRecord"); }

    // Waits for a chunk and returns when it was complete.
    double wait(std::size_t chunk) {
        const cudaEvent_t event = ring_[chunk % ring_.size()];
        check(cudaEventSynchronize(event), "waiting for a chunk");
        float milliseconds = 0;
        check(cudaEventElapsedTime(&milliseconds, reference_, event), "cudaEventElapsedTime");
        return reference_time_ + static_cast<double>(milliseconds) * 1e-3;
    }

private:
    cudaStream_t stream_;
    cudaEvent_t reference_ = nullptr;
    double reference_time_ = 0;
    std::array<cudaEvent_t, queued_chunks> ring_{};
};

void move_chunks(const WindowTask& task, Shared& shared, std::size_t me, Events& events) {
    const std::size_t places = task.route->bytes() / task.chunk;
    std::size_t queued = 0;
    std::size_t complete = 0;
    while (!shared.stop.load(std::memory_order_relaxed)) {
        while (queued < complete + queued_chunks) {
            task.route->queue_copy(queued % places * task.chunk, task.chunk);
            events.record(queued);
            ++queued;
        }
        const double time = events.wait(complete);
        ++complete;
        const std::lock_guard<std::mutex> lock(shared.mutex);
        shared.logs[me].times.push_back(time);
    }
    while (complete < queued) {
        events.wait(complete);
        ++complete;
        const std::lock_guard<std::mutex> lock(shared.mutex);
        shared.logs[me].times.push_back(INFINITY);  // outside of every window, but written
    }
}

void run_task(const WindowTask& task, Shared& shared, std::size_t me) {
    bool started = false;
    try {
        shared.cpus[me] = bind_thread(task.route->cpus());
        task.route->make_current();
        Events events(task.route->stream());
        events.align();
        started = true;
        shared.start.arrive_and_wait();
        move_chunks(task, shared, me, events);
    } catch (...) {
        shared.errors[me] = std::current_exception();
        shared.stop = true;
        if (!started) shared.start.leave();
    }
    --shared.running;
}

std::vector<CompletionLog> snapshot(Shared& shared) {
    const std::lock_guard<std::mutex> lock(shared.mutex);
    return shared.logs;
}

double sub_window_length(const std::vector<CompletionLog>& logs) {
    double slowest = 0;
    for (const CompletionLog& log : logs) slowest = std::max(slowest, log.chunk_seconds());
    return std::max(least_sub_window, chunks_per_sub_window * slowest);
}

// Summaries of the first `count` sub-windows; whether all are known well enough.
bool summarise_windows(const SubWindows& windows, const std::vector<WindowTask>& tasks, std::size_t count, double target,
                       WindowOutcome& outcome) {
    const auto first = [count](const std::vector<double>& rates) {
        return std::vector<double>(rates.begin(), rates.begin() + static_cast<std::ptrdiff_t>(count));
    };
    std::vector<std::vector<double>> flows(tasks.back().flow + 1, std::vector<double>(count, 0));
    outcome.task_rates.clear();
    for (std::size_t i = 0; i < tasks.size(); ++i) {
        for (std::size_t at = 0; at < count; ++at) flows[tasks[i].flow][at] += windows.rates[i][at];
        outcome.task_rates.push_back(summarise(first(windows.rates[i])).median);
    }
    outcome.rates.clear();
    bool narrow = true;
    for (const std::vector<double>& rates : flows) {
        outcome.rates.push_back(summarise(rates));
        narrow = narrow && outcome.rates.back().half_width() <= target;
    }
    outcome.total = summarise(first(windows.total));
    return narrow && outcome.total.half_width() <= target && count >= looks.front();
}

bool autocorrelated(const WindowOutcome& outcome) {
    return outcome.total.n() > looks.front() && lag_one_autocorrelation(outcome.total.samples) > long_autocorrelation;
}

// Looks at the logs as they grow, only at the agreed numbers of samples, until they are good enough or time is up.
void watch(Shared& shared, const std::vector<WindowTask>& tasks, const Policy& policy, double seconds, const std::function<void()>& under_load,
           WindowOutcome& outcome) {
    const double end = now() + seconds;
    double length = 0;
    std::size_t look = 0;
    bool loaded = false;
    while (!shared.stop) {
        std::this_thread::sleep_for(std::chrono::duration<double>(look_interval));
        const std::vector<CompletionLog> logs = snapshot(shared);
        const bool late = now() > end;
        const bool moving = std::all_of(logs.begin(), logs.end(), [](const CompletionLog& log) { return log.times.size() >= 4; });
        if (moving && !loaded) {
            loaded = true;
            if (under_load) under_load();
        }
        if (moving && length == 0) length = sub_window_length(logs);
        const SubWindows windows = common_sub_windows(logs, settle_seconds, length);
        while (look < looks.size() && windows.count >= looks[look]) {
            outcome.converged = summarise_windows(windows, tasks, looks[look], policy.target, outcome);
            if (outcome.converged) return;
            ++look;
            // Samples that resemble their neighbours say less than their number: longer ones.
            if (autocorrelated(outcome)) {
                length *= 2;
                look = 0;
                break;
            }
        }
        if (look == looks.size() || late || interrupted()) {
            if (windows.count > outcome.total.n() && windows.count < looks.back())
                outcome.converged = summarise_windows(windows, tasks, windows.count, policy.target, outcome);
            return;
        }
    }
}

}  // namespace

WindowOutcome run_window(const std::vector<WindowTask>& tasks, const Policy& policy, double seconds,
                         const std::function<void()>& under_load) {
    Shared shared(tasks.size());
    shared.running = tasks.size();
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < tasks.size(); ++i) {
        shared.logs[i].chunk_bytes = static_cast<double>(tasks[i].chunk);
        threads.emplace_back(run_task, std::cref(tasks[i]), std::ref(shared), i);
    }
    WindowOutcome outcome;
    watch(shared, tasks, policy, seconds, under_load, outcome);
    shared.stop = true;
    for (std::thread& thread : threads) thread.join();
    for (const std::exception_ptr& error : shared.errors)
        if (error) std::rethrow_exception(error);
    outcome.cpus = shared.cpus;
    for (std::size_t i = 0; i < tasks.size(); ++i) outcome.bytes_moved.push_back(shared.logs[i].times.size() * tasks[i].chunk);
    if (outcome.rates.empty()) {
        if (interrupted()) throw Prevented("interrupted", "interrupted");
        throw Prevented("budget", "the flows did not all move within " + std::to_string(seconds) + " s");
    }
    return outcome;
}

std::size_t chunk_for(double rate, std::size_t buffer) {
    constexpr double chunk_seconds = 0.0013;
    constexpr std::size_t grain = std::size_t{1} << 20;
    const auto wanted = static_cast<std::size_t>(rate * 1e9 * chunk_seconds) / grain * grain;
    const std::size_t most = std::min<std::size_t>(64 * grain, std::max(grain, buffer / 4 / grain * grain));
    return std::clamp(wanted, grain, most);
}

double probe_rate(const Route& route, double seconds) {
    route.make_current();
    const std::size_t bytes = std::min(route.bytes(), std::size_t{32} << 20);
    const double end = now() + seconds;
    double before = 0;
    double rate = 0;
    do {
        before = rate;
        const double start = now();
        for (int i = 0; i < 2; ++i) route.queue_copy(0, bytes);
        check(cudaStreamSynchronize(route.stream()), "warming up");
        rate = 2 * static_cast<double>(bytes) / (now() - start) / 1e9;
    } while ((before == 0 || std::abs(rate - before) > 0.02 * rate) && now() < end && !interrupted());
    return rate;
}

}  // namespace nearfar
