#include "engine/sampling.h"

#include <algorithm>
#include <limits>

namespace nearfar {
namespace {

constexpr double settle_seconds = 0.004;
constexpr double starved_seconds = 0.25;  // who has not moved least_chunks by then is starved, and the others are not held up
constexpr std::size_t least_chunks = 4;
constexpr double longer_for_slow_flows = 3;  // at most, until the first sub-window is over
constexpr double least_growth = 1.05;        // of sub-windows that hold too few chunks
constexpr double most_growth = 2;
constexpr double rounding = 1e-6;

bool has_moved(const CompletionLog& log) { return log.times.size() >= least_chunks; }

}  // namespace

Sampling::Sampling(std::vector<std::size_t> flows, const Policy& policy, double begin, double seconds)
    : flows_(std::move(flows)), policy_(policy), begin_(begin), seconds_(seconds) {}

bool Sampling::moving(const std::vector<CompletionLog>& logs, double time) const {
    return time - begin_ < std::min(starved_seconds, seconds_ / 2) ? std::all_of(logs.begin(), logs.end(), has_moved)
                                                                   : std::any_of(logs.begin(), logs.end(), has_moved);
}

double Sampling::first_length(const std::vector<CompletionLog>& logs) const {
    double slowest = 0;
    for (const CompletionLog& log : logs)
        if (has_moved(log)) slowest = std::max(slowest, log.chunk_seconds());
    return std::max(policy_.sample_seconds, policy_.sample_chunks * slowest);
}

// The fewest chunks that a flow completed in a sub-window, on average over those of its tasks that move.
double Sampling::fewest_chunks(const std::vector<CompletionLog>& logs) const {
    double fewest = std::numeric_limits<double>::infinity();
    std::vector<double> tasks(flows_.back() + 1, 0);
    for (std::size_t i = 0; i < logs.size(); ++i) tasks[flows_[i]] += windows_.moving[i] ? 1 : 0;
    for (std::size_t at = 0; at < windows_.count; ++at) {
        std::vector<double> chunks(tasks.size(), 0);
        for (std::size_t i = 0; i < logs.size(); ++i)
            if (windows_.moving[i]) chunks[flows_[i]] += windows_.rates[i][at] * 1e9 * windows_.length / logs[i].chunk_bytes;
        for (std::size_t flow = 0; flow < tasks.size(); ++flow)
            if (tasks[flow] > 0) fewest = std::min(fewest, chunks[flow] / tasks[flow]);
    }
    return fewest;
}

void Sampling::start_anew(double longer) { length_ *= longer; }

void Sampling::divide(const std::vector<CompletionLog>& logs) {
    while (true) {
        windows_ = common_sub_windows(logs, settle_seconds, length_, least_chunks);
        const double fewest = fewest_chunks(logs);
        if (fewest >= policy_.sample_chunks * (1 - rounding)) return;
        start_anew(std::clamp(policy_.sample_chunks / fewest, least_growth, most_growth));
    }
}

void Sampling::summarise_first(std::size_t count) {
    const auto first = [count](const std::vector<double>& rates) {
        return std::vector<double>(rates.begin(), rates.begin() + static_cast<std::ptrdiff_t>(count));
    };
    samples_ = {};
    std::vector<std::vector<double>> flows(flows_.back() + 1, std::vector<double>(count, 0));
    for (std::size_t i = 0; i < flows_.size(); ++i) {
        for (std::size_t at = 0; at < count; ++at) flows[flows_[i]][at] += windows_.rates[i][at];
        samples_.task_rates.push_back(summarise(first(windows_.rates[i])).median);
    }
    for (const std::vector<double>& rates : flows) samples_.rates.push_back(summarise(rates));
    samples_.total = summarise(first(windows_.total));
    samples_.begin = windows_.begin;
    samples_.end = windows_.begin + windows_.length * static_cast<double>(count);
}

bool Sampling::enough(const std::vector<CompletionLog>& logs, double time) {
    if (length_ == 0 && moving(logs, time)) length_ = first_length(logs);
    if (length_ == 0) return time - begin_ >= longer_for_slow_flows * seconds_;
    divide(logs);
    if (windows_.count >= policy_.samples) {
        summarise_first(policy_.samples);
        samples_.complete = true;
        return true;
    }
    return time - begin_ >= seconds_ * (windows_.count > 0 ? 1 : longer_for_slow_flows);
}

WindowSamples Sampling::finish(const std::vector<CompletionLog>& logs, double time) {
    if (samples_.complete || windows_.count == 0) return samples_;
    summarise_first(std::min(windows_.count, policy_.samples));
    samples_.complete = windows_.count >= policy_.samples;
    for (std::size_t i = 0; i < logs.size(); ++i)
        if (windows_.moving[i] && is_stalled(logs[i], time)) samples_.complete = false;
    return samples_;
}

}  // namespace nearfar
