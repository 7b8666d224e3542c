#include "engine/together.h"

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
#include "engine/sampling.h"
#include "node/cpus.h"

namespace nearfar {
namespace {

constexpr double look_interval = 0.004;

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
        try {
            for (std::size_t i = 0; i < specs_.size(); ++i) threads.emplace_back([this, i] { run_task(i); });
        } catch (...) {  // a thread was refused: those that run must not wait for it
            stop_ = true;
            release();
            for (std::thread& thread : threads) thread.join();
            throw;
        }
        TogetherOutcome outcome{watch(seconds, under_load), {}, {}};
        stop_ = true;
        for (std::thread& thread : threads) thread.join();
        for (const std::exception_ptr& error : errors_)
            if (error) std::rethrow_exception(error);
        outcome.cpus = cpus_;
        outcome.moved = moved_;
        // A window whose samples were made longer may end with fewer of them: that is a figure.
        if (interrupted() && outcome.total.n() < policy_.samples)
            throw Prevented("interrupted", "interrupted while it was measured");
        if (!outcome.rates.empty()) return outcome;
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
    friend class TogetherTask;

    void arrive() {
        std::unique_lock<std::mutex> lock(mutex_);
        count_in();
        all_.wait(lock, [this] { return missing_ == 0; });
    }

    // One more is ready, or will never be; `mutex_` is held. None is missing any more where all were released.
    void count_in() {
        if (missing_ > 0) --missing_;
        if (missing_ == 0) all_.notify_all();
    }

    void release() {
        const std::lock_guard<std::mutex> lock(mutex_);
        missing_ = 0;
        all_.notify_all();
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
        count_in();
    }

    std::vector<CompletionLog> snapshot() {
        std::vector<CompletionLog> copies;
        for (GuardedLog& guarded : logs_) {
            const std::lock_guard<std::mutex> lock(guarded.mutex);
            copies.push_back(guarded.log);
        }
        return copies;
    }

    // Looks at the logs as they grow until there is enough.
    WindowSamples watch(double seconds, const std::function<void()>& under_load) {
        std::vector<std::size_t> flows;
        for (const TogetherSpec& spec : specs_) flows.push_back(spec.flow);
        Sampling sampling(flows, policy_, now(), seconds);
        bool loaded = false;
        std::vector<CompletionLog> logs;
        do {
            std::this_thread::sleep_for(std::chrono::duration<double>(look_interval));
            logs = snapshot();
            if (!loaded && under_load && sampling.moving(logs, now())) {
                loaded = true;
                under_load();
            }
        } while (!stop_ && !sampling.enough(logs, now()) && !interrupted());
        return sampling.finish(logs, now());
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
