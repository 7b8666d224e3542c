// An emulated stream: a thread that does what is queued on it, in order, each at its time.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>

#include "gpu/gpu_runtime.h"

namespace emulated_cuda {

double now();  // CLOCK_MONOTONIC, in seconds
void sleep_until(double time);

// What an event knows; shared by its handle and the streams that it is queued on.
class EventState {
public:
    void queued();
    void happened(double time);
    bool is_recorded();
    bool is_pending();
    void wait();
    double time();

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    int pending_ = 0;
    bool recorded_ = false;
    double time_ = 0;
};

class Stream {
public:
    // Does its work and returns when it is over; `start` is when the one before was over, or when it was queued if that is later.
    // The time may have passed or be yet to come: whoever waits sees it over when it is over.
    using Work = std::function<double(double start)>;

    static std::shared_ptr<Stream> create(int device);
    int device() const { return device_; }
    void queue(Work work);
    // Nothing queued gets past this point.
    void stall();
    void wait();
    // What is queued is done still.
    void close();

private:
    struct Entry {
        Work work;
        double queued;
    };
    explicit Stream(int device) : device_(device) {}
    const int device_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Entry> queue_;
    bool busy_ = false;
    bool closed_ = false;
    double over_ = 0;  // when the last work was

    void serve();
};

}  // namespace emulated_cuda

#ifdef NEARFAR_HIP
#define CUevent_st ihipEvent_t
#define CUstream_st ihipStream_t
#endif

struct CUevent_st {
    std::shared_ptr<emulated_cuda::EventState> state = std::make_shared<emulated_cuda::EventState>();
};

struct CUstream_st {
    std::shared_ptr<emulated_cuda::Stream> stream;
};
