// Measures copy cells on this machine's GPUs.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "cell/measure.h"
#include "copy/chase.h"
#include "gpu/buffers.h"
#include "gpu/gpu_device.h"
#include "gpu/load_watch.h"
#include "gpu/lost_gpu.h"
#include "gpu/peer_access.h"
#include "gpu/route.h"
#include "gpu/route_plan.h"
#include "gpu/windowed.h"
#include "node/node.h"
#include "node/nvml.h"
#include "output/session_loop.h"
#include "tasks/task_pool.h"

namespace nearfar {

class CopyBench {
public:
    // Starts CUDA for the cells that measure() will be given.
    CopyBench(const Node& node, const Nvml& nvml, const Policy& policy, const std::vector<Cell>& cells);

    const std::vector<GpuDevice>& gpus() const { return gpus_; }

    // Why some cells were skipped although another process could measure them (that is their reason); empty: there are none.
    const std::string& end_of_process() const { return lost_.end_of_process(); }

    // Measures the cells in order into `session`, which `mutex` guards: what cannot be measured is skipped or failed with its
    // reason, and the rest goes on.
    void measure(Session& session, std::mutex& mutex, const Progress& progress);

private:
    const Node& node_;
    const Nvml& nvml_;
    Policy policy_;  // of the cell that is measured
    std::vector<Cell> cells_;
    std::vector<std::string> environment_;  // before CUDA starts
    std::vector<GpuDevice> gpus_;
    LostGpus lost_;
    LoadWatch watch_;
    TaskPool tasks_;
    std::map<std::pair<std::string, ChunkLength>, Summary> solos_;  // windowed rate of a flow alone, by its text
    ChaseBench chases_{node_, gpus_};
    std::map<std::string, double> probed_;  // rough rates, for chunks

    using MeasureCell = std::function<std::vector<CellResult>(const Cell& cell, double seconds)>;

    void set_up(Buffers& buffers, Session& session);
    void plan(const Cell& cell, Buffers& buffers);
    void measure_quickly(Buffers& buffers, PeerAccess& peers, const MeasureCell& alone, Session& session, std::mutex& mutex,
                         const Progress& progress);
    bool is_usable(const Flow& flow) const;
    std::vector<CellResult> measure_cell(const Cell& cell, Buffers& buffers, PeerAccess& peers, double seconds);
    void add(CellResult& result, const Route& route, const Summary& rate, const std::vector<int>& cpus,
             const LinkState& link) const;
    std::vector<CellResult> measure_latched(const Cell& cell, Buffers& buffers, double seconds);
    std::vector<CellResult> measure_latencies(const Cell& cell, const Buffers& buffers, double seconds);
    CellResult measure_windowed(const Cell& cell, Buffers& buffers, double seconds);
    double probed_rate(const Route& route);
    std::vector<Route> fitting_routes(const Flow& flow, const FlowBuffers& keys, Buffers& buffers, int threads);
    const Summary& solo(const Flow& flow, const Buffers& buffers, ChunkLength length, double seconds);
    Policy window_policy(ChunkLength length) const;
};

}  // namespace nearfar
