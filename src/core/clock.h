// Seconds of CLOCK_MONOTONIC, which all processes of a node share.
#pragma once

#include <ctime>

namespace nearfar {

inline double now() {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// Sleeps until then: the core is left to others.
void sleep_until(double time);
// Sleeps until shortly before, then looks at the clock until it is then.
void wait_until(double time);

}  // namespace nearfar
