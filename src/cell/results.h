// What programs say of cells and subjects.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cell/cell.h"
#include "core/statistics.h"
#include "core/visits.h"
#include "node/node.h"
#include "node/nvml.h"

namespace nearfar {

// A driving thread's CPUs, and what they gave.
struct TriedCpus {
    std::vector<int> cpus;
    double median = 0;
};

struct FlowResult {
    Flow flow;
    std::string name{};             // in its place: of a subject's part, as a rank
    const char* unit = nullptr;     // of its rates, where it is not that of the cell
    Summary rate;                   // GB/s
    std::optional<Summary> solo;    // the same flow alone, where that is no cell of the run
    std::optional<double> ceiling;  // GB/s, physical
    std::vector<int> cpus;          // the driving thread's binding in effect; of a latency that of the best visit
    std::vector<int> memory_nodes;  // where the host pages are, in effect
    LinkState link;                 // under load
    std::optional<double> best;     // GB/s, STREAM only
    std::vector<TriedCpus> tried;   // of a latency: one for each visit
    std::optional<Summary> tasks;   // spread over the tasks of /xK: each task's median of the last visit, GB/s
};

// What a flow in the background moved while a cell was measured.
struct AggressorRate {
    std::string flow;
    Summary rate;  // GB/s
};

// What was compared, all of it with success.
struct Verified {
    std::uint64_t bytes = 0;   // with what was sent, or with the right answer
    std::uint64_t copies = 0;  // how many were made; 0: no copies were
    std::uint64_t seen = 0;    // of them: each left something that no later one covered, and it was there

    void add(const Verified& other) {
        bytes += other.bytes;
        copies += other.copies;
        seen += other.seen;
    }
};

// The slowest of many transfers.
struct Slowest {
    double time = 0;  // us
    double at = 0;    // when it began, on CLOCK_MONOTONIC
};

// Why visits that were due were not made.
struct CutShort {
    std::string code;
    std::string reason;
};

struct CellResult {
    std::string quantity = "copy";
    const char* unit = "GB/s";  // of all its figures
    Cell cell;
    std::string subject;                                       // in its place: of a kernel; docs/ defines its words
    std::vector<std::pair<std::string, std::string>> members;  // more keys of the document, each with its JSON
    std::size_t bytes = 0;  // in one copy (latched) or chunk (windowed), the largest of the flows
    // Of one visit: it has all its samples, and nothing stopped meanwhile. Of several: the best was reached again (a plateau), or the
    // interval is narrow.
    bool converged = false;
    std::vector<Visit> visits;         // each with so many of the samples of every figure of the cell itself
    std::size_t rejected = 0;          // samples that were above the ceiling, and count for nothing
    std::optional<Verified> verified;  // nothing: nothing was compared
    std::string method;                // "latched" or "windowed"
    std::vector<FlowResult> flows;
    std::optional<Slowest> slowest;         // of a tail
    std::vector<std::string> beside;        // flows of other cells in the same window
    std::vector<AggressorRate> aggressors;  // never part of the total
    std::optional<CutShort> cut_short;
    std::string smaller;      // why `bytes` is less than usual, which makes it another figure; empty: it is not
    bool remeasured = false;  // in company, or --quick: it was a suspect, and this is what the usual way says of it alone
    Summary total;            // GB/s
    double seconds = 0;
    double verify_seconds = 0;
};

// A part of a subject.
inline FlowResult part_result(const std::string& name, const Summary& rate, const std::vector<int>& cpus = {},
                              const std::vector<int>& memory_nodes = {}) {
    FlowResult part;
    part.name = name;
    part.rate = rate;
    part.cpus = cpus;
    part.memory_nodes = memory_nodes;
    return part;
}

struct NotMeasured {
    std::string cell;
    std::string code;
    std::string reason;
};

struct GpuUnderLoad {
    int gpu = 0;
    LinkState link;
    std::vector<std::string> throttle;                // reasons seen while it moved data
    std::optional<std::uint64_t> replays;             // during this run
    std::optional<std::uint64_t> uncorrected_errors;  // since the GPU's last reset
};

// Of a cell that was measured at several sizes: where its rate reaches half of its largest.
struct SizeCurve {
    std::string cell;
    double half_bandwidth_bytes;
};

// One rank of a run, as the launcher left it.
struct RankFacts {
    int rank = 0;
    std::string host;
    int pid = 0;
    std::string cpus;  // Linux's list form
    std::optional<int> gpu;
    std::optional<int> numa_node;  // the GPU's
};

// The MPI that a run used, in its own words, and its ranks.
struct MpiFacts {
    std::string library;
    std::vector<RankFacts> ranks;
};

// What has been measured so far; complete after measure().
struct Session {
    std::vector<CellResult> results;
    std::map<std::string, std::vector<CellResult>> so_far;  // of cells that are not finished, by their text
    std::vector<NotMeasured> skipped;
    std::vector<NotMeasured> failed;
    std::vector<GpuUnderLoad> gpus_under_load;
    std::vector<SizeCurve> curves;
    std::map<std::string, double> setup_seconds;
    bool interrupted = false;  // visits that were due were not made, and not for want of budget
    std::string spent;         // why cells that nothing is said of are for a new process; empty: there are none
};

}  // namespace nearfar
