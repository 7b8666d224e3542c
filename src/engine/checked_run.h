// A window whose destinations are checked: nothing right is in them when it begins, and what was moved is compared after it.
#pragma once

#include <cstddef>
#include <exception>
#include <functional>
#include <vector>

#include "engine/together.h"

namespace nearfar {

// One thread of a window with its destination: a ring of whole chunks.
struct Mover {
    TogetherSpec spec;
    std::size_t room = 0;                           // bytes of the destination
    std::function<void()> poison;                   // makes sure that nothing right is there; none: it sees to that by itself
    std::function<void(std::size_t bytes)> verify;  // throws Failure where the first `bytes` are not the source's
};

struct CheckedOutcome {
    TogetherOutcome moved;                    // no rates where something went wrong before the window was complete
    std::vector<std::exception_ptr> trouble;  // of each mover: what it threw, or that its data is wrong
    double verify_seconds = 0;                // for all destinations, before and after

    // Throws the first trouble.
    void require() const;
};

// Poisons, runs and verifies all movers; see run_together. What one of them throws is its own trouble; throws where time was too
// short for a rate, or an interruption came.
CheckedOutcome run_checked(const std::vector<Mover>& movers, const Policy& policy, double seconds,
                           const std::function<void()>& under_load);

}  // namespace nearfar
