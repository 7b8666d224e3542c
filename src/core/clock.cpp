#include "core/clock.h"

#include <cerrno>
#include <cmath>

namespace nearfar {

constexpr double shortly = 0.0005;

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

}  // namespace nearfar
