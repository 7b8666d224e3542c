// Flows that run beside everything else from a start to a stop, each in a thread; what they move is counted, and whether they
// still do. Knows nothing of what moves.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "cell/results.h"
#include "engine/window.h"

namespace nearfar {

class Background;

// What one thread in the background sees.
class BackgroundTask {
public:
    BackgroundTask(Background& background, std::size_t me) : background_(background), me_(me) {}
    bool stopped() const;
    // Before the first completion: the bytes of each chunk.
    void begin(std::size_t chunk);
    // A chunk was complete at a time on CLOCK_MONOTONIC.
    void complete(double time);

private:
    Background& background_;
    std::size_t me_;
};

struct BackgroundFlow {
    std::string name;                           // several of one name are tasks of one flow
    std::function<void(BackgroundTask&)> body;  // moves until stopped; one that returns or throws before has died
};

class Background {
public:
    // Starts all at once. One that completes nothing while it is awaited for `patience` seconds has died.
    Background(const std::vector<BackgroundFlow>& flows, double patience);
    ~Background();
    Background(const Background&) = delete;
    Background& operator=(const Background&) = delete;

    bool empty() const { return runners_.empty(); }
    // Waits until each has completed something since `time`, on CLOCK_MONOTONIC. Returns which one has died and why; empty where
    // all move.
    std::string await_past(double time);
    // What each flow moved between two times, the second no later than one that was awaited: over six equal parts.
    std::vector<AggressorRate> rates(double begin, double end);

private:
    struct Runner {
        std::string name;
        CompletionLog log;
        bool ended = false;
        std::string why;
    };

    double patience_;
    std::atomic<bool> stop_{false};
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Runner> runners_;
    std::vector<std::thread> threads_;
    friend class BackgroundTask;

    void run(const BackgroundFlow& flow, std::size_t me);
    void say_ended(std::size_t me, const std::string& why);
};

// Measures while the background moves, and puts beside each result what the background moved meanwhile. Throws Prevented
// (interrupted) where one of it was dead before or died meanwhile: nothing is reported as if it had been loaded.
std::vector<CellResult> measure_beside(Background& background, const std::function<std::vector<CellResult>()>& measure);

}  // namespace nearfar
