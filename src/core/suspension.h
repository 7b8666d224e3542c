// Time in which a whole run was stopped: by SIGSTOP, by a scheduler, or with its container. One process of the run looks at the clock all the
// time; where its own looks lie far apart, nothing ran. Processes that it forks read from a shared page what it has seen.
#pragma once

namespace nearfar {

// In the process that looks, before it forks; from then on each call is a look. `first`: none of the time before it counts.
void look_for_suspension(bool first = false);

// Seconds so far; 0 where nobody looks. Waits for the next look where the one that looks woke up later.
double suspended_seconds();

// Seconds of CLOCK_MONOTONIC without those: what deadlines are counted in.
double running_time();

// What `step` gives; made again, a few times at most, where the run was suspended meanwhile, whatever came of it.
template <typename Step>
auto unless_suspended(const Step& step) {
    constexpr int most = 3;
    for (int count = 1;; ++count) {
        const double before = suspended_seconds();
        const auto stands = [&] { return count == most || suspended_seconds() == before; };
        try {
            auto made = step();
            if (stands()) return made;
        } catch (...) {
            if (stands()) throw;
        }
    }
}

}  // namespace nearfar
