// What a flow does without company. Where the flow is a cell of the run itself, that cell says it; otherwise it is measured once in each
// round, and shared by all cells.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cell/policy.h"
#include "engine/checked_run.h"
#include "gpu/buffers.h"
#include "gpu/gpu_device.h"
#include "gpu/route.h"
#include "gpu/windowed.h"
#include "kernels/beside/kernels_beside_copies.h"
#include "node/node.h"

namespace nearfar {

class Baselines {
public:
    Baselines(const Node& node, const std::vector<GpuDevice>& gpus, Buffers& buffers, KernelsBesideCopies& beside,
              const std::vector<Cell>& cells);

    // GB/s of a route, roughly: to choose its chunk, not to report. Binds the calling thread where it is not known yet.
    double probed_rate(const Route& route, const Policy& policy);

    // plan_routes over buffers that are made larger first where they are too small for the rate and memory allows (buffer_for).
    std::vector<Route> fitting_routes(const Flow& flow, const FlowBuffers& keys, int threads, const Policy& policy);

    // Whether the run measures the flow alone as a cell of its own.
    bool is_cell(const Flow& flow) const { return cells_.count(flow.alone().text()) > 0; }
    // Whether this round has it already.
    bool has_solo(const Flow& flow, ChunkLength length, int round) const;
    // A flow's rate alone, by one task, in a window of its own, over all rounds so far; at most `seconds` where this round has none yet.
    const Summary& solo(const Flow& flow, ChunkLength length, const Policy& policy, double seconds, int round);

private:
    struct Solo {
        Summary rate;
        std::vector<Visit> visits;
        int round = -1;  // the last one that it was measured in
    };

    const Node& node_;
    const std::vector<GpuDevice>& gpus_;
    Buffers& buffers_;
    KernelsBesideCopies& beside_;
    std::map<std::string, double> probed_;
    std::map<std::pair<std::string, ChunkLength>, Solo> solos_;
    std::set<std::string> cells_;

    CheckedOutcome run_alone(const Flow& flow, ChunkLength length, const Policy& policy, double seconds);
};

// Fewer chunks in a sample where each is longer.
Policy window_policy(const Policy& policy, ChunkLength length);

}  // namespace nearfar
