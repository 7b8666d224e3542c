#include "engine/window.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace nearfar {
namespace {

constexpr double stalled_seconds = 0.05;
constexpr double stalled_chunks = 10;

}  // namespace

bool is_stalled(const CompletionLog& log, double time) {
    return time - log.times.back() > std::max(stalled_seconds, stalled_chunks * log.chunk_seconds());
}

double CompletionLog::bytes_at(double time) const {
    const auto after = std::upper_bound(times.begin(), times.end(), time);
    if (after == times.begin()) return 0;
    const auto complete = static_cast<double>(after - times.begin());
    if (after == times.end()) return complete * chunk_bytes;
    const double before = *(after - 1);
    return (complete + (time - before) / (*after - before)) * chunk_bytes;
}

double CompletionLog::rate(double begin, double end) const { return (bytes_at(end) - bytes_at(begin)) / (end - begin) / 1e9; }

std::size_t CompletionLog::count(double begin, double end) const {
    return static_cast<std::size_t>(
        std::count_if(times.begin(), times.end(), [=](double time) { return time > begin && time <= end; }));
}

double CompletionLog::chunk_seconds() const {
    if (times.size() < 2) return 0;
    std::vector<double> gaps;
    gaps.reserve(times.size() - 1);
    for (std::size_t i = 1; i < times.size(); ++i) gaps.push_back(times[i] - times[i - 1]);
    const auto middle = gaps.begin() + static_cast<std::ptrdiff_t>(gaps.size() / 2);
    std::nth_element(gaps.begin(), middle, gaps.end());
    return *middle;
}

SubWindows common_sub_windows(const std::vector<CompletionLog>& logs, double settle, double length, std::size_t least) {
    SubWindows windows;
    double begin = -std::numeric_limits<double>::infinity();
    double end = std::numeric_limits<double>::infinity();
    double newest = -std::numeric_limits<double>::infinity();
    for (const CompletionLog& log : logs)
        if (!log.times.empty()) newest = std::max(newest, log.times.back());
    for (const CompletionLog& log : logs) {
        windows.moving.push_back(log.times.size() >= least && !is_stalled(log, newest));
        if (!windows.moving.back()) continue;
        begin = std::max(begin, log.times.front());
        end = std::min(end, log.times.back());
    }
    begin += settle;
    if (!std::isfinite(begin) || length <= 0 || end - begin < length) return windows;
    windows.begin = begin;
    windows.length = length;
    windows.count = static_cast<std::size_t>((end - begin) / length);
    windows.rates.resize(logs.size());
    windows.total.assign(windows.count, 0);
    for (std::size_t flow = 0; flow < logs.size(); ++flow) {
        double before = logs[flow].bytes_at(begin);
        for (std::size_t i = 0; i < windows.count; ++i) {
            const double after = logs[flow].bytes_at(begin + static_cast<double>(i + 1) * length);
            const double rate = (after - before) / length / 1e9;
            windows.rates[flow].push_back(rate);
            if (logs[flow].is_counted) windows.total[i] += rate;
            before = after;
        }
    }
    return windows;
}

}  // namespace nearfar
