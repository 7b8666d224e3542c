// Loads: flows that run beside everything else until their owner stops them, and that no sum counts. What they move is told, and
// whether they still do.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cell/results.h"
#include "engine/engine.h"

namespace nearfar {

struct BackgroundFlow {
    std::string name;  // several of one name are threads of one flow
    FlowWork work;     // a body that returns or throws before the stop has died
};

class Background {
public:
    // Starts all at once. One that completes nothing while it is awaited for `patience` seconds has died.
    Background(const std::vector<BackgroundFlow>& flows, double patience);

    bool empty() const { return names_.empty(); }
    // Waits until each has completed something since `time`, on CLOCK_MONOTONIC. Returns which one has died and why; empty where
    // all move.
    std::string await_past(double time);
    // What each flow moved between two times, the second no later than one that was awaited: over six equal parts.
    std::vector<AggressorRate> rates(double begin, double end) const;

private:
    std::vector<std::string> names_;  // of each thread's flow
    std::vector<bool> moves_nothing_;
    double patience_;
    Engine engine_;

    std::string await(std::size_t thread, double time, double patience_ends);
};

// Measures while the background moves, and puts beside each result what the background moved meanwhile. Throws Prevented
// (interrupted) where one of it was dead before or died meanwhile: nothing is reported as if it had been loaded.
std::vector<CellResult> measure_beside(Background& background, const std::function<std::vector<CellResult>()>& measure);

}  // namespace nearfar
