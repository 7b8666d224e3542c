#include "engine/engine.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "core/clock.h"
#include "core/error.h"
#include "core/interrupt.h"
#include "core/trouble.h"
#include "node/cpus.h"

namespace nearfar {
namespace {

constexpr std::chrono::milliseconds between_looks{4};

}  // namespace

FlowThread::FlowThread(Engine& engine, FlowWork work) : engine_(engine), work_(std::move(work)) {
    log_.chunk_bytes = static_cast<double>(work_.chunk);
    log_.is_counted = work_.is_counted;
}

void FlowThread::start() {
    std::unique_lock<std::mutex> lock(engine_.mutex_);
    ready_ = true;
    engine_.changed_.notify_all();
    engine_.changed_.wait(lock, [this] { return engine_.begun_; });
    const double time = engine_.start_;
    lock.unlock();
    wait_until(time);
}

bool FlowThread::stopped() const { return now() >= engine_.stop_.load(std::memory_order_relaxed); }

void FlowThread::complete(double time) {
    const std::lock_guard<std::mutex> lock(log_mutex_);
    log_.times.push_back(time);
}

CompletionLog FlowThread::log() const {
    const std::lock_guard<std::mutex> lock(log_mutex_);
    return log_;
}

double FlowThread::latest() const {
    const std::lock_guard<std::mutex> lock(log_mutex_);
    return log_.times.empty() ? -std::numeric_limits<double>::infinity() : log_.times.back();
}

bool FlowThread::has_ended() const {
    const std::lock_guard<std::mutex> lock(engine_.mutex_);
    return ended_;
}

std::exception_ptr FlowThread::trouble() const {
    const std::lock_guard<std::mutex> lock(engine_.mutex_);
    return trouble_;
}

void FlowThread::end(const std::exception_ptr& trouble) {
    const std::lock_guard<std::mutex> lock(engine_.mutex_);
    trouble_ = trouble;
    ended_ = true;
    engine_.changed_.notify_all();
}

Engine::Engine(const std::vector<FlowWork>& work) {
    for (const FlowWork& one : work) threads_.emplace_back(*this, one);
    for (FlowThread& thread : threads_) {
        const auto run = [&thread] {
            thread.end(thrown_by([&] {
                if (!thread.work_.cpus.empty()) thread.cpus_ = bind_thread(thread.work_.cpus);
                thread.work_.body(thread);
            }));
        };
        const std::exception_ptr refused = thrown_by([&] { thread.thread_ = std::thread(run); });
        if (refused) thread.end(refused);
    }
}

Engine::~Engine() { stop(); }

std::vector<CompletionLog> Engine::logs() const {
    std::vector<CompletionLog> copies;
    for (const FlowThread& thread : threads_) copies.push_back(thread.log());
    return copies;
}

void Engine::require() const {
    for (const FlowThread& thread : threads_)
        if (const std::exception_ptr trouble = thread.trouble()) std::rethrow_exception(trouble);
}

void Engine::await_ready() {
    const auto ready = [](const FlowThread& thread) { return thread.ready_ || thread.ended_; };
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return std::all_of(threads_.begin(), threads_.end(), ready); });
    lock.unlock();
    require();
}

void Engine::begin(double start, double stop) {
    const std::lock_guard<std::mutex> lock(mutex_);
    start_ = start;
    stop_ = stop;
    begun_ = true;
    changed_.notify_all();
}

void Engine::join() {
    for (FlowThread& thread : threads_)
        if (thread.thread_.joinable()) thread.thread_.join();
}

void Engine::stop() {
    begin(0, 0);
    join();
}

WindowOutcome run_window(Engine& engine, const Policy& policy, double seconds, const std::function<void()>& under_load) {
    engine.await_ready();
    engine.begin();
    const std::deque<FlowThread>& threads = engine.threads();
    std::vector<std::size_t> flows;
    for (const FlowThread& thread : threads) flows.push_back(thread.flow());
    Sampling sampling(flows, policy, now(), seconds);
    bool loaded = false;
    std::vector<CompletionLog> logs;
    const auto has_trouble = [](const FlowThread& thread) { return thread.trouble() != nullptr; };
    do {
        std::this_thread::sleep_for(between_looks);
        logs = engine.logs();
        if (!loaded && under_load && sampling.moving(logs, now())) {
            loaded = true;
            under_load();
        }
    } while (!sampling.enough(logs, now()) && !interrupted() && std::none_of(threads.begin(), threads.end(), has_trouble));
    WindowOutcome outcome{sampling.finish(logs, now()), {}};
    engine.stop();
    engine.require();
    for (const FlowThread& thread : threads) outcome.cpus.push_back(thread.cpus());
    // A window whose samples were made longer may end with fewer of them: that is a figure.
    if (interrupted() && outcome.total.n() < policy.samples) throw Prevented("interrupted", "interrupted while it was measured");
    if (!outcome.rates.empty()) return outcome;
    throw Prevented("budget", "too little moved in " + std::to_string(seconds) + " s to tell a rate");
}

}  // namespace nearfar
