#include "engine/background.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "core/clock.h"
#include "core/error.h"
#include "core/interrupt.h"
#include "core/suspension.h"
#include "core/trouble.h"

namespace nearfar {
namespace {

constexpr std::size_t parts = 6;
constexpr std::chrono::milliseconds between_looks{1};

std::vector<FlowWork> work_of(const std::vector<BackgroundFlow>& flows) {
    std::vector<FlowWork> work;
    for (const BackgroundFlow& flow : flows) work.push_back(flow.work);
    return work;
}

std::string end_of(const FlowThread& thread) {
    const std::exception_ptr trouble = thread.trouble();
    return trouble ? trouble_of([&] { std::rethrow_exception(trouble); }).field(1) : "it ended by itself";
}

}  // namespace

Background::Background(const std::vector<BackgroundFlow>& flows, double patience)
    : moves_nothing_(flows.size(), false), patience_(patience), engine_(work_of(flows)) {
    for (const BackgroundFlow& flow : flows) names_.push_back(flow.name);
    engine_.begin();
}

// Returns why it will not complete anything; empty where it has since `time`.
std::string Background::await(std::size_t at, double time, double patience_ends) {
    const FlowThread& thread = engine_.threads()[at];
    const std::string who = "the aggressor " + names_[at];
    while (thread.latest() < time) {
        if (thread.has_ended()) return who + " died: " + end_of(thread);
        if (running_time() > patience_ends) moves_nothing_[at] = true;  // waited for once, not by every cell
        if (moves_nothing_[at]) return who + " died: it moves nothing";
        if (interrupted()) return "interrupted while " + who + " was awaited";
        std::this_thread::sleep_for(between_looks);
    }
    return "";
}

std::string Background::await_past(double time) {
    const double patience_ends = running_time() + patience_;
    for (std::size_t i = 0; i < names_.size(); ++i) {
        const std::string trouble = await(i, time, patience_ends);
        if (!trouble.empty()) return trouble;
    }
    return "";
}

std::vector<AggressorRate> Background::rates(double begin, double end) const {
    const std::vector<CompletionLog> logs = engine_.logs();
    const double length = (end - begin) / static_cast<double>(parts);
    std::vector<AggressorRate> found;
    std::vector<std::vector<double>> samples;
    for (std::size_t at = 0; at < logs.size(); ++at) {
        const auto known = std::find_if(found.begin(), found.end(), [&](const auto& rate) { return rate.flow == names_[at]; });
        const auto place = static_cast<std::size_t>(known - found.begin());
        if (known == found.end()) {
            found.push_back({names_[at], {}});
            samples.emplace_back(parts, 0.0);
        }
        for (std::size_t i = 0; i < parts; ++i) {
            const double from = begin + static_cast<double>(i) * length;
            samples[place][i] += logs[at].rate(from, from + length);
        }
    }
    for (std::size_t i = 0; i < found.size(); ++i) found[i].rate = summarise(samples[i]);
    return found;
}

std::vector<CellResult> measure_beside(Background& background, const std::function<std::vector<CellResult>()>& measure) {
    if (background.empty()) return measure();
    const auto require = [&] {
        const std::string trouble = background.await_past(now());
        if (!trouble.empty()) throw Prevented("interrupted", trouble);
    };
    require();
    std::vector<CellResult> results = measure();
    require();
    for (CellResult& result : results)
        if (!result.visits.empty()) result.aggressors = background.rates(result.visits.front().begin, result.visits.back().end);
    return results;
}

}  // namespace nearfar
