#include "tests/emulated_cuda/stream.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <thread>
#include <utility>

namespace emulated_cuda {

double now() {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

void sleep_until(double time) {
    timespec until{};
    until.tv_sec = static_cast<time_t>(std::floor(time));
    until.tv_nsec = static_cast<long>((time - std::floor(time)) * 1e9);
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) != 0) {
    }
}

void EventState::queued() {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++pending_;
    recorded_ = true;
}

void EventState::happened(double time) {
    const std::lock_guard<std::mutex> lock(mutex_);
    --pending_;
    time_ = time;
    changed_.notify_all();
}

bool EventState::is_recorded() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return recorded_;
}

bool EventState::is_pending() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return pending_ > 0;
}

void EventState::wait() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return pending_ == 0; });
}

double EventState::time() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return time_;
}

std::shared_ptr<Stream> Stream::create(int device) {
    std::shared_ptr<Stream> stream(new Stream(device));
    std::thread([stream] { stream->serve(); }).detach();
    return stream;
}

void Stream::queue(Work work) {
    const std::lock_guard<std::mutex> lock(mutex_);
    queue_.push_back({std::move(work), now()});
    changed_.notify_all();
}

void Stream::stall() {
    queue([](double) -> double {
        for (;;) pause();
    });
}

void Stream::wait() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return queue_.empty() && !busy_; });
}

void Stream::close() {
    const std::lock_guard<std::mutex> lock(mutex_);
    closed_ = true;
    changed_.notify_all();
}

void Stream::serve() {
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
        changed_.wait(lock, [this] { return closed_ || !queue_.empty(); });
        if (queue_.empty()) return;
        Entry entry = std::move(queue_.front());
        queue_.pop_front();
        busy_ = true;
        lock.unlock();
        over_ = entry.work(std::max(over_, entry.queued));
        entry.work = nullptr;  // what it held goes before anybody hears that it is over
        lock.lock();
        busy_ = false;
        changed_.notify_all();
    }
}

}  // namespace emulated_cuda
