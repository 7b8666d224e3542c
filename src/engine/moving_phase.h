// The threads of a mover in one agreed window: made ready before it, moving (or only polling) while it lasts.
#pragma once

#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "engine/agreed_window.h"
#include "engine/data_mover.h"

namespace nearfar {

// Of one flow in one window.
struct MovedFlow {
    double rate = 0;  // GB/s inside the window, edges interpolated
    bool starved = false;
};

class MovingPhase {
public:
    // Poisons, starts a thread for each flow, bound to its CPUs (a binding that is not in effect is an error), and waits until all
    // are ready. Throws what poisoning throws, and std::system_error for a thread that is refused.
    // `polling`: they keep their cores busy and move nothing.
    MovingPhase(DataMover& mover, const std::vector<std::vector<int>>& cpus, bool polling);
    ~MovingPhase();
    MovingPhase(const MovingPhase&) = delete;
    MovingPhase& operator=(const MovingPhase&) = delete;

    void begin(const AgreedWindow& window);
    // Waits for the threads, looks at the data, and throws what a thread threw.
    std::vector<MovedFlow> finish();

private:
    struct Lane {
        std::vector<double> times;
        std::size_t moved = 0;
        std::exception_ptr error;
    };
    DataMover& mover_;
    bool polling_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::size_t ready_ = 0;
    bool begun_ = false;
    std::atomic<bool> given_up_{false};
    AgreedWindow window_;
    std::vector<Lane> lanes_;
    std::vector<std::thread> threads_;

    void drive(std::size_t flow, const std::vector<int>& cpus);
    void await_begin();
    void say_ready();
    void give_up();
    void join();
};

// Sleeps until shortly before a time on CLOCK_MONOTONIC, then looks at the clock until it has come.
void wait_until(double time);
// Sleeps until a time on CLOCK_MONOTONIC: the core is left to others.
void sleep_until(double time);

}  // namespace nearfar
