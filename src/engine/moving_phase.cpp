#include "engine/moving_phase.h"

#include <cerrno>
#include <cmath>

#include "core/clock.h"
#include "engine/window.h"
#include "node/cpus.h"

namespace nearfar {
namespace {

constexpr std::size_t least_chunks = 4;  // with fewer in a window a flow is starved
constexpr double shortly = 0.0005;

double rate_in(const std::vector<double>& times, double chunk, const AgreedWindow& window) {
    CompletionLog log;
    log.chunk_bytes = chunk;
    log.times = times;
    return (log.bytes_at(window.close) - log.bytes_at(window.open)) / window.length() / 1e9;
}

std::size_t inside(const std::vector<double>& times, const AgreedWindow& window) {
    std::size_t count = 0;
    for (const double time : times) count += time > window.open && time <= window.close ? 1 : 0;
    return count;
}

}  // namespace

void sleep_until(double time) {
    timespec until{};
    until.tv_sec = static_cast<time_t>(std::floor(time));
    until.tv_nsec = static_cast<long>((time - std::floor(time)) * 1e9);
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) continue;
}

void wait_until(double time) {
    if (time - now() > shortly) sleep_until(time - shortly);
    while (now() < time) continue;
}

MovingPhase::MovingPhase(DataMover& mover, const std::vector<std::vector<int>>& cpus, bool polling)
    : mover_(mover), polling_(polling), lanes_(mover.cell().flows.size()) {
    if (!polling_) mover_.poison();
    try {
        for (std::size_t flow = 0; flow < lanes_.size(); ++flow)
            threads_.emplace_back([this, flow, &mine = cpus[flow]] { drive(flow, mine); });
    } catch (...) {  // a thread was refused
        give_up();
        throw;
    }
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return ready_ == lanes_.size(); });
}

MovingPhase::~MovingPhase() { give_up(); }

void MovingPhase::give_up() {
    given_up_ = true;
    join();
}

void MovingPhase::begin(const AgreedWindow& window) {
    const std::lock_guard<std::mutex> lock(mutex_);
    window_ = window;
    begun_ = true;
    changed_.notify_all();
}

void MovingPhase::say_ready() {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++ready_;
    changed_.notify_all();
}

void MovingPhase::await_begin() {
    say_ready();
    {
        std::unique_lock<std::mutex> lock(mutex_);
        changed_.wait(lock, [this] { return begun_ || given_up_; });
    }
    if (!given_up_) wait_until(window_.start);
}

void MovingPhase::drive(std::size_t flow, const std::vector<int>& cpus) {
    Lane& lane = lanes_[flow];
    bool was_ready = false;
    const auto ready = [&] {
        was_ready = true;
        await_begin();
    };
    const auto stopped = [this] { return given_up_ || now() >= window_.stop; };
    try {
        bind_thread(cpus);
        if (polling_) {
            ready();
            while (!stopped()) continue;
            return;
        }
        mover_.pump(
            flow, stopped,
            [&](double time) {
                lane.times.push_back(time);
                lane.moved += mover_.chunk(flow);
            },
            ready);
    } catch (...) {
        lane.error = std::current_exception();
        if (!was_ready) say_ready();  // nobody waits for it
    }
}

void MovingPhase::join() {
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        changed_.notify_all();
    }
    for (std::thread& thread : threads_)
        if (thread.joinable()) thread.join();
}

std::vector<MovedFlow> MovingPhase::finish() {
    join();
    std::vector<std::size_t> moved;
    for (const Lane& lane : lanes_) {
        if (lane.error) std::rethrow_exception(lane.error);
        moved.push_back(lane.moved);
    }
    if (!polling_) mover_.verify(moved);
    std::vector<MovedFlow> flows;
    for (std::size_t flow = 0; flow < lanes_.size(); ++flow) {
        MovedFlow found;
        if (!polling_) {
            found.rate = rate_in(lanes_[flow].times, static_cast<double>(mover_.chunk(flow)), window_);
            found.starved = inside(lanes_[flow].times, window_) < least_chunks;
        }
        flows.push_back(found);
    }
    return flows;
}

}  // namespace nearfar
