// What a flow does without company: measured once in each round, and shared by all cells.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cell/policy.h"
#include "copy/beside_copies.h"
#include "engine/checked_run.h"
#include "gpu/buffers.h"
#include "gpu/gpu_device.h"
#include "gpu/route.h"
#include "gpu/windowed.h"
#include "node/node.h"

namespace nearfar {

class Baselines {
public:
    Baselines(const Node& node, const std::vector<GpuDevice>& gpus, Buffers& buffers, BesideCopies& beside)
        : node_(node), gpus_(gpus), buffers_(buffers), beside_(beside) {}

    // GB/s of a route, roughly: to choose its chunk, not to report. Binds the calling thread where it is not known yet.
    double probed_rate(const Route& route, const Policy& policy);

    // plan_routes over buffers that are made larger first where they are too small for the rate and memory allows (buffer_for).
    std::vector<Route> fitting_routes(const Flow& flow, const FlowBuffers& keys, int threads, const Policy& policy);

    // Whether this round has it already, or windows in company tell it.
    bool has_solo(const Flow& flow, ChunkLength length, int round) const;
    // A flow's rate alone, by one task, in a window of its own, over all rounds so far; at most `seconds` where this round has none yet.
    const Summary& solo(const Flow& flow, ChunkLength length, const Policy& policy, double seconds, int round);

    // A flow that is measured by windows in company in each round: in the first round nobody measures its baseline.
    void expect(const Flow& flow) { expected_.insert(flow.text()); }
    bool is_expected(const Flow& flow, ChunkLength length) const {
        return length == ChunkLength::short_one && expected_.count(flow.alone().text()) > 0;
    }
    // What such a window said of it.
    void tell(const Flow& flow, const Summary& rate, const Visit& visit);

private:
    struct Solo {
        Summary rate;
        std::vector<Visit> visits;
        int round = -1;  // the last one that it was measured in
    };

    const Node& node_;
    const std::vector<GpuDevice>& gpus_;
    Buffers& buffers_;
    BesideCopies& beside_;
    std::map<std::string, double> probed_;
    std::map<std::pair<std::string, ChunkLength>, Solo> solos_;
    std::set<std::string> expected_;

    CheckedOutcome run_alone(const Flow& flow, ChunkLength length, const Policy& policy, double seconds);
};

// Fewer chunks in a sample where each is longer.
Policy window_policy(const Policy& policy, ChunkLength length);

}  // namespace nearfar
