#include "engine/background.h"

#include <algorithm>
#include <chrono>
#include <exception>

#include "core/clock.h"
#include "core/error.h"
#include "core/interrupt.h"
#include "core/trouble.h"

namespace nearfar {
namespace {

constexpr std::size_t parts = 6;
constexpr std::chrono::milliseconds glance{20};

}  // namespace

bool BackgroundTask::stopped() const { return background_.stop_.load(std::memory_order_relaxed); }

void BackgroundTask::begin(std::size_t chunk) {
    const std::lock_guard<std::mutex> lock(background_.mutex_);
    background_.runners_[me_].log.chunk_bytes = static_cast<double>(chunk);
}

void BackgroundTask::complete(double time) {
    const std::lock_guard<std::mutex> lock(background_.mutex_);
    background_.runners_[me_].log.times.push_back(time);
    background_.changed_.notify_all();
}

Background::Background(const std::vector<BackgroundFlow>& flows, double patience) : patience_(patience) {
    for (const BackgroundFlow& flow : flows) runners_.push_back({flow.name, {}, false, ""});
    for (std::size_t i = 0; i < flows.size(); ++i) {
        const Message trouble = trouble_of([&] { threads_.emplace_back([this, flow = flows[i], i] { run(flow, i); }); });
        if (!trouble.word.empty()) say_ended(i, trouble.field(1));
    }
}

Background::~Background() {
    stop_ = true;
    for (std::thread& thread : threads_) thread.join();
}

void Background::run(const BackgroundFlow& flow, std::size_t me) {
    std::string why = "it ended by itself";
    try {
        BackgroundTask task(*this, me);
        flow.body(task);
    } catch (const std::exception& error) {
        why = error.what();
    }
    say_ended(me, why);
}

void Background::say_ended(std::size_t me, const std::string& why) {
    const std::lock_guard<std::mutex> lock(mutex_);
    runners_[me].ended = true;
    runners_[me].why = why;
    changed_.notify_all();
}

std::string Background::await_past(double time) {
    const double end = now() + patience_;
    std::unique_lock<std::mutex> lock(mutex_);
    for (Runner& runner : runners_) {
        const auto arrived = [&] { return !runner.log.times.empty() && runner.log.times.back() >= time; };
        while (!arrived()) {
            if (runner.ended) return "the aggressor " + runner.name + " died: " + runner.why;
            if (now() > end) {
                runner.ended = true;  // waited for once, not by every cell
                runner.why = "it moves nothing";
                continue;
            }
            if (interrupted()) return "interrupted while the aggressor " + runner.name + " was awaited";
            changed_.wait_for(lock, glance);
        }
    }
    return "";
}

std::vector<AggressorRate> Background::rates(double begin, double end) {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::vector<AggressorRate> found;
    std::vector<std::vector<double>> samples;
    for (const Runner& runner : runners_) {
        const auto known = std::find_if(found.begin(), found.end(), [&](const auto& rate) { return rate.flow == runner.name; });
        const auto place = static_cast<std::size_t>(known - found.begin());
        if (known == found.end()) {
            found.push_back({runner.name, {}});
            samples.emplace_back(parts, 0.0);
        }
        const double length = (end - begin) / static_cast<double>(parts);
        for (std::size_t i = 0; i < parts; ++i) {
            const double from = begin + static_cast<double>(i) * length;
            samples[place][i] += (runner.log.bytes_at(from + length) - runner.log.bytes_at(from)) / length / 1e9;
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
