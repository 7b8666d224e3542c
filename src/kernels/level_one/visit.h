// One visit to a kernel where it is placed, and what is said of several.
#pragma once

#include <optional>
#include <vector>

#include "core/visits.h"
#include "kernels/level_one/placed_kernel.h"

namespace nearfar {

// Samples of one visit: seconds, each of one call.
struct KernelVisit {
    double begin = 0;  // on CLOCK_MONOTONIC
    double end = 0;
    std::vector<CallTimes> calls;
    std::vector<double> overlapped;
    std::vector<double> computed;  // one after the other without transfers
    Verified verified;
    std::optional<GpuState> state;
    std::vector<int> cpus;
    std::vector<int> memory_nodes;
};

template <typename Visit>
void each_field(CallTimes& call, Visit& visit) {
    for (double* part : {&call.in, &call.compute, &call.out, &call.total}) visit(*part);
}

template <typename Visit>
void each_field(GpuState& state, Visit& visit) {
    visit(state.running.sm_clock);
    visit(state.running.memory_clock);
    visit(state.running.power);
    visit(state.running.temperature);
    visit(state.running.memory_temperature);
    visit(state.throttle);
    visit(state.corrected_errors);
    visit(state.uncorrected_errors);
}

template <typename Visit>
void each_field(KernelVisit& made, Visit& visit) {
    visit(made.begin);
    visit(made.end);
    visit(made.calls);
    visit(made.overlapped);
    visit(made.computed);
    visit(made.verified.bytes);
    visit(made.state);
    visit(made.cpus);
    visit(made.memory_nodes);
}

// Of a kernel that has begun. Throws Failure (wrong_data) where an answer is wrong.
KernelVisit make_visit(PlacedKernel& kernel);

// Samples of all visits to one kernel at one size.
class KernelFigures {
public:
    explicit KernelFigures(const ProblemShape& shape) : shape_(shape) {}

    void add(const KernelVisit& visit);
    std::size_t visits() const { return known_.empty() ? 0 : known_.front().visits.size(); }
    // Whether the best total and the best rate were reached again.
    bool are_reached_again() const;
    const ProblemShape& shape() const { return shape_; }

    // For the document: one result for each quantity. `host`: the CPU computed; `converged`: no more visits are due.
    std::vector<CellResult> results(const Subject& subject, bool host) const;
    // A line of the table.
    std::string row(const Subject& subject) const;

private:
    ProblemShape shape_;
    std::vector<CellResult> known_;  // of every quantity
    std::optional<GpuState> state_;
    std::optional<GpuState> first_state_;

    void note(const GpuState& state);
    // How many errors more there are than at the first look; empty: none, or nobody says.
    std::string errors_json() const;
};

// Keys of a document for what the driver said of a GPU.
void write_state(Json& json, const GpuState& state);

// Above rows.
std::string kernels_heading();

}  // namespace nearfar
