#include "engine/together.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <string>
#include <thread>

#include "core/clock.h"
#include "core/error.h"
#include "core/interrupt.h"
#include "engine/window.h"
#include "node/cpus.h"

namespace nearfar {
namespace {

constexpr double settle_seconds = 0.004;
constexpr double starved_seconds = 0.25;  // who has not moved least_chunks by then is starved, and the others are not held up
constexpr std::size_t least_chunks = 4;
constexpr double look_interval = 0.004;
constexpr double longer_for_slow_flows = 3;  // at most, until the first sub-window is over
constexpr double long_autocorrelation = 0.6;

bool has_moved(const CompletionLog& log) { return log.times.size() >= least_chunks; }

double sub_window_length(const std::vector<CompletionLog>& logs, const Policy& policy) {
    double slowest = 0;
    for (const CompletionLog& log : logs)
        if (has_moved(log)) slowest = std::max(slowest, log.chunk_seconds());
    return std::max(policy.sample_seconds, policy.sample_chunks * slowest);
}

bool autocorrelated(const TogetherOutcome& outcome) {
    return outcome.total.n() > looks.front() && lag_one_autocorrelation(outcome.total.samples) > long_autocorrelation;
}

}  // namespace

class Together {
public:
    Together(const std::vector<TogetherSpec>& specs, const Policy& policy)
        : specs_(specs), policy_(policy), missing_(specs.size()), logs_(specs.size()), cpus_(specs.size()),
          moved_(specs.size(), 0), errors_(specs.size()) {
        for (std::size_t i = 0; i < specs.size(); ++i) logs_[i].log.chunk_bytes = static_cast<double>(specs[i].chunk);
    }

    TogetherOutcome run(double seconds, const std::function<void()>& under_load) {
        std::vector<std::thread> threads;
        threads.reserve(specs_.size());
        for (std::size_t i = 0; i < specs_.size(); ++i) threads.emplace_back([this, i] { run_task(i); });
        watch(seconds, under_load);
        stop_ = true;
        for (std::thread& thread : threads) thread.join();
        for (const std::exception_ptr& error : errors_)
            if (error) std::rethrow_exception(error);
        outcome_.cpus = cpus_;
        outcome_.moved = moved_;
        // A window that autocorrelation made longer may end with fewer samples than the first look has: that is a figure.
        if (interrupted() && outcome_.total.n() < looks.front())
            throw Prevented("interrupted", "interrupted while it was measured");
        if (!outcome_.rates.empty()) return outcome_;
        throw Prevented("budget", "too little moved in " + std::to_string(seconds) + " s to tell a rate");
    }

private:
    struct GuardedLog {
        std::mutex mutex;
        CompletionLog log;
    };

    const std::vector<TogetherSpec>& specs_;
    const Policy& policy_;
    std::mutex mutex_;
    std::condition_variable all_;
    std::size_t missing_;
    std::atomic<bool> stop_{false};
    std::deque<GuardedLog> logs_;
    std::vector<std::vector<int>> cpus_;
    std::vector<std::size_t> moved_;
    std::vector<std::exception_ptr> errors_;
    TogetherOutcome outcome_;
    friend class TogetherTask;

    void arrive() {
        std::unique_lock<std::mutex> lock(mutex_);
        if (--missing_ == 0) all_.notify_all();
        all_.wait(lock, [this] { return missing_ == 0; });
    }

    void run_task(std::size_t me) {
        TogetherTask task(*this, me);
        try {
            specs_[me].body(task);
        } catch (...) {
            errors_[me] = std::current_exception();
            stop_ = true;
        }
        if (task.started_) return;
        // Failed before the start: the others must not wait for it.
        const std::lock_guard<std::mutex> lock(mutex_);
        if (--missing_ == 0) all_.notify_all();
    }

    std::vector<CompletionLog> snapshot() {
        std::vector<CompletionLog> copies;
        for (GuardedLog& guarded : logs_) {
            const std::lock_guard<std::mutex> lock(guarded.mutex);
            copies.push_back(guarded.log);
        }
        return copies;
    }

    // Summaries of the first `count` sub-windows.
    void summarise_windows(const SubWindows& windows, std::size_t count) {
        const auto first = [count](const std::vector<double>& rates) {
            return std::vector<double>(rates.begin(), rates.begin() + static_cast<std::ptrdiff_t>(count));
        };
        std::vector<std::vector<double>> flows(specs_.back().flow + 1, std::vector<double>(count, 0));
        outcome_.task_rates.clear();
        for (std::size_t i = 0; i < specs_.size(); ++i) {
            for (std::size_t at = 0; at < count; ++at) flows[specs_[i].flow][at] += windows.rates[i][at];
            outcome_.task_rates.push_back(summarise(first(windows.rates[i])).median);
        }
        outcome_.rates.clear();
        for (const std::vector<double>& rates : flows) outcome_.rates.push_back(summarise(rates));
        outcome_.total = summarise(first(windows.total));
        outcome_.begin = windows.begin;
        outcome_.end = windows.begin + windows.length * static_cast<double>(count);
        const auto narrow = [this](const Summary& rate) { return rate.half_width() <= policy_.target; };
        outcome_.converged =
            count >= looks.front() && narrow(outcome_.total) && std::all_of(outcome_.rates.begin(), outcome_.rates.end(), narrow);
    }

    // Looks at the logs as they grow, only at the agreed numbers of samples, until they are good enough or time is up.
    void watch(double seconds, const std::function<void()>& under_load) {
        const double begin = now();
        double length = 0;
        std::size_t look = 0;
        bool loaded = false;
        while (!stop_) {
            std::this_thread::sleep_for(std::chrono::duration<double>(look_interval));
            const std::vector<CompletionLog> logs = snapshot();
            const double elapsed = now() - begin;
            const bool moving = elapsed < std::min(starved_seconds, seconds / 2)
                                    ? std::all_of(logs.begin(), logs.end(), has_moved)
                                    : std::any_of(logs.begin(), logs.end(), has_moved);
            if (moving && !loaded) {
                loaded = true;
                if (under_load) under_load();
            }
            if (moving && length == 0) length = sub_window_length(logs, policy_);
            const SubWindows windows = common_sub_windows(logs, settle_seconds, length, least_chunks);
            while (look < looks.size() && windows.count >= looks[look]) {
                summarise_windows(windows, looks[look]);
                if (outcome_.converged || looks[look] >= policy_.most_samples) return;
                ++look;
                // Samples that resemble their neighbours say less than their number: longer ones.
                if (autocorrelated(outcome_)) {
                    length *= 2;
                    look = 0;
                    break;
                }
            }
            const double end = windows.count > 0 ? seconds : longer_for_slow_flows * seconds;
            if (look < looks.size() && elapsed < end && !interrupted()) continue;
            if (windows.count > 0 && windows.count < looks.back()) summarise_windows(windows, windows.count);
            return;
        }
    }
};

void TogetherTask::bind(const std::vector<int>& cpus) { together_.cpus_[me_] = bind_thread(cpus); }

void TogetherTask::start() {
    started_ = true;
    together_.arrive();
}

bool TogetherTask::stopped() const { return together_.stop_.load(std::memory_order_relaxed); }

void TogetherTask::complete(double time) {
    together_.moved_[me_] += together_.specs_[me_].chunk;
    const std::lock_guard<std::mutex> lock(together_.logs_[me_].mutex);
    together_.logs_[me_].log.times.push_back(time);
}

void TogetherTask::drained() { together_.moved_[me_] += together_.specs_[me_].chunk; }

TogetherOutcome run_together(const std::vector<TogetherSpec>& specs, const Policy& policy, double seconds,
                             const std::function<void()>& under_load) {
    return Together(specs, policy).run(seconds, under_load);
}

}  // namespace nearfar
