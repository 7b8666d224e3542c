// One window of time that all ranks of a run agree on before it begins. Pure.
#pragma once

#include <vector>

namespace nearfar {

// Seconds of CLOCK_MONOTONIC of one host. Everything runs from `start` to `stop`; what is complete between `open` and `close` counts.
struct AgreedWindow {
    double start = 0;
    double open = 0;
    double close = 0;
    double stop = 0;

    double length() const { return close - open; }
    // The same window on the clock of a host that reads so much more.
    AgreedWindow on_host(double offset) const { return {start + offset, open + offset, close + offset, stop + offset}; }
};

// A window that begins `lead` seconds from `now`: time enough for all ranks to hear of it.
AgreedWindow agree_window(double now, double lead, double settle, double length);

// Readings of two clocks: the one here before and after, and the other one in between.
struct ClockReading {
    double before;
    double other;
    double after;
};

// How much more the other clock reads, from the reading that took least: it is out by half of that at most.
struct ClockOffset {
    double seconds = 0;
    double uncertainty = 0;
};
ClockOffset clock_offset(const std::vector<ClockReading>& readings);

}  // namespace nearfar
