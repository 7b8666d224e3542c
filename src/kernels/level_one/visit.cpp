#include "kernels/level_one/visit.h"

#include <algorithm>
#include <cmath>

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

void KernelFigures::Figure::add(const std::vector<double>& more, const KernelVisit& visit) {
    if (more.empty()) return;  // only the rate is measured
    samples.insert(samples.end(), more.begin(), more.end());
    visits.push_back({visit.begin, visit.end, more.size()});
}

Summary KernelFigures::Figure::summary(Best best) const {
    Summary all = summarise(samples, visits);
    all.plateau = plateau_of(all, visits, best);
    return all;
}

void KernelFigures::add(const KernelVisit& visit) {
    in_.add(of_calls(visit.calls, &CallTimes::in), visit);
    compute_.add(of_calls(visit.calls, &CallTimes::compute), visit);
    out_.add(of_calls(visit.calls, &CallTimes::out), visit);
    total_.add(of_calls(visit.calls, &CallTimes::total), visit);
    overlapped_.add(scaled(visit.overlapped, micro), visit);
    std::vector<double> rates;
    for (const double seconds : visit.computed) rates.push_back(shape_.counted / seconds / giga);
    rate_.add(rates, visit);
    verified_.add(visit.verified);
    if (visit.state) note(*visit.state);
    cpus_ = visit.cpus;
    memory_nodes_ = visit.memory_nodes;
    seconds_ += visit.end - visit.begin;
    ++visits_;
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
    const auto is_settled = [](const Figure& figure, Best best) {
        if (figure.samples.empty()) return true;
        const std::optional<Plateau> plateau = figure.summary(best).plateau;
        return plateau && is_reached_again(*plateau, again);
    };
    return is_settled(total_, Best::lowest) && is_settled(rate_, Best::highest);
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
    std::vector<CellResult> results;
    const std::string name = (host ? "kernel.host." : "kernel.") + shape_.kernel;
    const bool converged = are_reached_again();
    const auto add = [&](const char* what, const char* unit, const Figure& figure, Best best) {
        if (figure.samples.empty()) return;
        CellResult result;
        result.quantity = name + "." + what;
        result.unit = unit;
        result.subject = subject.text();
        result.bytes = shape_.bytes();
        result.members = {{"size", Json().value(size_name(shape_.size)).text()},
                          {"in_bytes", std::to_string(shape_.in_bytes)},
                          {"out_bytes", std::to_string(shape_.out_bytes)},
                          {"operations", Json().value(shape_.operations).text()}};
        Json state;
        if (state_) result.members.emplace_back("gpu_state", state.object([&] { write_state(state, *state_); }).text());
        if (const std::string errors = errors_json(); !errors.empty()) result.members.emplace_back("ecc_errors", errors);
        result.converged = converged;
        result.verified = verified_;
        result.seconds = seconds_;
        result.flows.push_back(part_result(subject.text(), figure.summary(best), cpus_, memory_nodes_));
        results.push_back(result);
    };
    add("in", "us", in_, Best::lowest);
    add("compute", "us", compute_, Best::lowest);
    add("out", "us", out_, Best::lowest);
    add("total", "us", total_, Best::lowest);
    add("overlapped", "us", overlapped_, Best::lowest);
    add("rate", shape_.unit, rate_, Best::highest);
    return results;
}

std::string KernelFigures::row(const Subject& subject) const {
    const auto of = [](const Figure& figure) {
        return figure.samples.empty() ? formatted("%9s", "-") : formatted("%9.3f", figure.summary(Best::lowest).median / milli);
    };
    const Summary rate = rate_.summary(Best::highest);
    std::string told = state_ && state_->running.sm_clock ? std::to_string(*state_->running.sm_clock) + " MHz" : "";
    if (state_ && state_->running.power) told += formatted(" %.0f W", *state_->running.power);
    if (state_)
        for (const std::string& reason : state_->throttle) told += " " + reason;
    return formatted("%-10s %-12s %-6s %s %s %s %s %s %11.2f %-8s %3zu  %s\n", shape_.kernel.c_str(), subject.text().c_str(),
                     size_name(shape_.size), of(in_).c_str(), of(compute_).c_str(), of(out_).c_str(), of(total_).c_str(),
                     of(overlapped_).c_str(), rate.plateau ? rate.plateau->value : rate.median, shape_.unit, visits_,
                     told.c_str());
}

std::string kernels_heading() {
    return formatted("%-10s %-12s %-6s %9s %9s %9s %9s %9s %11s %-8s %3s\n", "kernel", "subject", "size", "in ms", "compute",
                     "out", "total", "overlap", "rate", "", "n");
}

}  // namespace nearfar
