#include "mpi/agreed_window.h"

#include <algorithm>

namespace nearfar {

// After the window is closed everything still runs for a moment, so that nobody's last message meets an empty node.
constexpr double tail_seconds = 0.005;

AgreedWindow agree_window(double now, double lead, double settle, double length) {
    AgreedWindow window;
    window.start = now + lead;
    window.open = window.start + settle;
    window.close = window.open + length;
    window.stop = window.close + tail_seconds;
    return window;
}

ClockOffset clock_offset(const std::vector<ClockReading>& readings) {
    const auto best = std::min_element(readings.begin(), readings.end(), [](const ClockReading& a, const ClockReading& b) {
        return a.after - a.before < b.after - b.before;
    });
    if (best == readings.end()) return {};
    return {best->other - (best->before + best->after) / 2, (best->after - best->before) / 2};
}

}  // namespace nearfar
