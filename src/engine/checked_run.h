// A window whose destinations are checked: nothing right is in them when it begins, and what was moved is compared after it.
#pragma once

#include <cstddef>
#include <exception>
#include <functional>
#include <string>
#include <vector>

#include "cell/results.h"
#include "engine/engine.h"

namespace nearfar {

// One thread of a window with its destination.
struct Mover {
    FlowWork work;
    std::function<void()> poison;      // makes sure that nothing right is there; none: it sees to that by itself
    std::function<Verified()> verify;  // says what was compared; throws Failure where it is not what was sent
};

struct CheckedOutcome {
    WindowOutcome moved;                      // no rates where something went wrong before the window was complete
    std::vector<std::exception_ptr> trouble;  // of each mover: what it threw, or that its data is wrong
    std::vector<Verified> verified;           // of each mover
    double verify_seconds = 0;                // for all destinations, before and after

    // Throws the first trouble.
    void require() const;
    // Of all movers together.
    Verified all_verified() const;
};

// Poisons, runs and verifies all movers; see run_window. What one of them throws is its own trouble; throws where time was too
// short for a rate, or an interruption came.
CheckedOutcome run_checked(const std::vector<Mover>& movers, const Policy& policy, double seconds,
                           const std::function<void()>& under_load);

// What moves one flow of a cell, and what is known of it before.
struct MovingFlow {
    FlowResult known;           // without CPUs: those of its threads, in effect
    std::vector<Mover> movers;  // its threads
    std::size_t bytes = 0;      // of its chunks, or of an array
    std::string smaller;        // why these are fewer than usual; empty: they are not
};

// All flows of a cell in one window. Throws what goes wrong with one of them, and as run_checked() does.
CellResult measure_window(const Cell& cell, const std::vector<MovingFlow>& flows, const Policy& policy, double seconds,
                          const std::function<void()>& under_load);

}  // namespace nearfar
