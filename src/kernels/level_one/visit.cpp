#include "kernels/level_one/visit.h"

#include <algorithm>
#include <cmath>

#include "cell/visited.h"
#include "core/clock.h"
#include "output/json.h"
#include "output/table.h"

namespace nearfar {
namespace {

constexpr double sequence_seconds = 0.05;  // of calls one after the other, about
constexpr double overlap_seconds = 0.04;
constexpr double compute_seconds = 0.008;  // of a sample without transfers
constexpr double load_seconds = 0.02;      // of the one beside which the driver is asked
constexpr int overlap_samples = 2;
constexpr int compute_samples = 3;
constexpr double again = 0.01;  // relative, within which the best visits have to lie
constexpr double micro = 1e6;
constexpr double milli = 1e3;
constexpr double giga = 1e9;
constexpr const char* total = "total";  // these two have to be reached again
constexpr const char* rate = "rate";

// How many calls take so long.
int calls_in(double seconds, double each, int least, int most) {
    if (!(each > 0)) return most;
    return std::clamp(static_cast<int>(std::ceil(seconds / each)), least, most);
}

std::vector<double> of_calls(const std::vector<CallTimes>& calls, double CallTimes::*part) {
    std::vector<double> samples;
    for (const CallTimes& call : calls) samples.push_back(call.*part * micro);
    return samples;
}

std::vector<double> scaled(std::vector<double> samples, double factor) {
    for (double& sample : samples) sample *= factor;
    return samples;
}

// Those with transfers; how long it computes in one.
double make_calls(PlacedKernel& kernel, KernelVisit& visit) {
    visit.calls.push_back(kernel.call());
    const CallTimes first = visit.calls.front();
    for (int left = calls_in(sequence_seconds, first.total, 3, 10) - 1; left > 0; --left) visit.calls.push_back(kernel.call());
    const int calls = calls_in(overlap_seconds, first.total / 2, 4, 24) / 2 * 2;
    for (int i = 0; i < overlap_samples; ++i) visit.overlapped.push_back(kernel.overlapped(calls));
    return first.compute;
}

}  // namespace

KernelVisit make_visit(PlacedKernel& kernel) {
    KernelVisit visit;
    visit.begin = now();
    const double each = kernel.transfers() ? make_calls(kernel, visit) : kernel.compute(1, [] {});
    const int times = calls_in(compute_seconds, each, 1, 1000);
    for (int i = 0; i < compute_samples; ++i) visit.computed.push_back(kernel.compute(times, [] {}));
    const int load = calls_in(load_seconds, each, 1, 1000);
    visit.computed.push_back(kernel.compute(load, [&] { visit.state = kernel.state(); }));
    visit.end = now();
    visit.verified = kernel.verify();
    visit.cpus = kernel.cpus();
    visit.memory_nodes = kernel.memory_nodes();
    return visit;
}

void KernelFigures::add(const KernelVisit& visit) {
    std::vector<CellResult> results;
    const auto add = [&](const char* what, const char* unit, const std::vector<double>& samples) {
        if (samples.empty()) return;  // only the rate is measured
        CellResult& result = results.emplace_back();
        result.quantity = what;
        result.unit = unit;
        result.bytes = shape_.bytes();
        result.visits = {{visit.begin, visit.end, samples.size()}};
        result.verified = visit.verified;
        result.total = summarise(samples);
        result.flows.push_back(part_result("", result.total, visit.cpus, visit.memory_nodes));
        result.seconds = visit.end - visit.begin;
    };
    std::vector<double> rates;
    for (const double seconds : visit.computed) rates.push_back(shape_.counted / seconds / giga);
    add("in", "us", of_calls(visit.calls, &CallTimes::in));
    add("compute", "us", of_calls(visit.calls, &CallTimes::compute));
    add("out", "us", of_calls(visit.calls, &CallTimes::out));
    add(total, "us", of_calls(visit.calls, &CallTimes::total));
    add("overlapped", "us", scaled(visit.overlapped, micro));
    add(rate, shape_.unit, rates);
    add_visit(known_, std::move(results));
    if (visit.state) note(*visit.state);
}

// The last one's clocks, power and temperature; all reasons that were seen.
void KernelFigures::note(const GpuState& state) {
    std::vector<std::string> throttle = state_ ? state_->throttle : std::vector<std::string>{};
    for (const std::string& reason : state.throttle)
        if (std::find(throttle.begin(), throttle.end(), reason) == throttle.end()) throttle.push_back(reason);
    if (!first_state_) first_state_ = state;
    state_ = state;
    state_->throttle = throttle;
}

bool KernelFigures::are_reached_again() const {
    return !known_.empty() && std::all_of(known_.begin(), known_.end(), [](const CellResult& known) {
        if (known.quantity != total && known.quantity != rate) return true;
        return known.total.plateau && is_reached_again(*known.total.plateau, again);
    });
}

void write_state(Json& json, const GpuState& state) {
    json.field_if("sm_clock_mhz", state.running.sm_clock).field_if("memory_clock_mhz", state.running.memory_clock);
    json.field_if("power_w", state.running.power).field_if("temperature_c", state.running.temperature);
    json.field_if("memory_temperature_c", state.running.memory_temperature).field("throttle", state.throttle);
}

std::string KernelFigures::errors_json() const {
    const auto more = [](const std::optional<std::uint64_t>& before, const std::optional<std::uint64_t>& after) {
        return before && after && *after > *before ? *after - *before : std::uint64_t{0};
    };
    if (!state_) return "";
    const std::uint64_t corrected = more(first_state_->corrected_errors, state_->corrected_errors);
    const std::uint64_t uncorrected = more(first_state_->uncorrected_errors, state_->uncorrected_errors);
    if (corrected + uncorrected == 0) return "";
    Json json;
    return json.object([&] { json.field("corrected", corrected).field("uncorrected", uncorrected); }).text();
}

std::vector<CellResult> KernelFigures::results(const Subject& subject, bool host) const {
    std::vector<CellResult> results = known_;
    for (CellResult& result : results) {
        result.quantity = (host ? "kernel.host." : "kernel.") + shape_.kernel + "." + result.quantity;
        result.subject = result.flows[0].name = subject.text();
        result.members = {{"size", Json().value(size_name(shape_.size)).text()},
                          {"in_bytes", std::to_string(shape_.in_bytes)},
                          {"out_bytes", std::to_string(shape_.out_bytes)},
                          {"operations", Json().value(shape_.operations).text()}};
        Json state;
        if (state_) result.members.emplace_back("gpu_state", state.object([&] { write_state(state, *state_); }).text());
        if (const std::string errors = errors_json(); !errors.empty()) result.members.emplace_back("ecc_errors", errors);
        result.converged = are_reached_again();
    }
    return results;
}

std::string KernelFigures::row(const Subject& subject) const {
    std::string times;
    for (const char* what : {"in", "compute", "out", total, "overlapped"}) {
        const auto is_it = [what](const CellResult& result) { return result.quantity == what; };
        const auto known = std::find_if(known_.begin(), known_.end(), is_it);
        times += known == known_.end() ? formatted(" %9s", "-") : formatted(" %9.3f", known->total.median / milli);
    }
    const Summary& figure = known_.back().total;  // the rate
    std::string remarks = state_ && state_->running.sm_clock ? std::to_string(*state_->running.sm_clock) + " MHz" : "";
    if (state_ && state_->running.power) remarks += formatted(" %.0f W", *state_->running.power);
    if (state_)
        for (const std::string& reason : state_->throttle) remarks += " " + reason;
    return formatted("%-10s %-12s %-6s%s %11.2f %-8s %3zu  %s\n", shape_.kernel.c_str(), subject.text().c_str(),
                     size_name(shape_.size), times.c_str(), figure.plateau ? figure.plateau->value : figure.median, shape_.unit,
                     visits(), remarks.c_str());
}

std::string kernels_heading() {
    return formatted("%-10s %-12s %-6s %9s %9s %9s %9s %9s %11s %-8s %3s\n", "kernel", "subject", "size", "in ms", "compute",
                     "out", "total", "overlap", "rate", "", "n");
}

}  // namespace nearfar
