// Rates of several flows over common sub-windows of time, from the times at which their chunks were complete.
#pragma once

#include <cstddef>
#include <vector>

namespace nearfar {

// One flow's completions: times in seconds of CLOCK_MONOTONIC, ascending, each after `chunk_bytes` more bytes.
struct CompletionLog {
    double chunk_bytes = 0;
    bool is_counted = true;  // in the total of all flows
    std::vector<double> times;

    // Bytes complete at a time, edges interpolated; the time lies between the first and the last completion.
    double bytes_at(double time) const;
    // GB/s between two such times.
    double rate(double begin, double end) const;
    // How many were complete after one time and until another.
    std::size_t count(double begin, double end) const;
    // Median time between completions, in seconds; 0 for fewer than two.
    double chunk_seconds() const;
};

// Nothing of it has completed for many of its own chunks' time, and 50 ms, before `time`.
bool is_stalled(const CompletionLog& log, double time);

struct SubWindows {
    double begin = 0;
    double length = 0;
    std::size_t count = 0;
    std::vector<bool> moving;                // [flow]: not starved
    std::vector<std::vector<double>> rates;  // [flow][sub-window], GB/s
    std::vector<double> total;               // [sub-window], GB/s, of the flows that are counted
};

// The rates in as many consecutive sub-windows of `length` seconds as fit between the last flow's first completion plus
// `settle` seconds and the first flow's last completion. A flow is starved that has fewer than `least` completions, or none for
// long while others went on: it bounds no window, and counts with what it moved.
SubWindows common_sub_windows(const std::vector<CompletionLog>& logs, double settle, double length, std::size_t least = 2);

}  // namespace nearfar
