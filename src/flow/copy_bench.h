// Measures copy cells on this machine's GPUs.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "flow/buffers.h"
#include "flow/gpu_device.h"
#include "flow/measure.h"
#include "flow/node.h"
#include "flow/nvml.h"
#include "flow/peer_access.h"
#include "flow/route.h"
#include "flow/route_plan.h"
#include "flow/session_loop.h"
#include "flow/task_process.h"
#include "flow/windowed.h"

namespace nearfar {

class CopyBench {
public:
    // Starts CUDA for the cells that measure() will be given.
    CopyBench(const Node& node, const Nvml& nvml, const Policy& policy, const std::vector<Cell>& cells);

    const std::vector<GpuDevice>& gpus() const { return gpus_; }

    // Measures the cells in order into `session`, which `mutex` guards: what cannot be measured is skipped or failed with its
    // reason, and the rest goes on.
    void measure(Session& session, std::mutex& mutex, const Progress& progress);

private:
    const Node& node_;
    const Nvml& nvml_;
    Policy policy_;
    std::vector<Cell> cells_;
    std::vector<GpuDevice> gpus_;
    std::map<int, std::uint64_t> replays_before_;
    std::map<int, GpuUnderLoad> loads_;     // what was seen of each GPU while it moved data
    std::map<std::string, Summary> solos_;  // windowed rate of a flow alone, by its text
    std::map<std::string, double> probed_;  // rough rates, for chunks

    void set_up(Buffers& buffers, Session& session);
    bool is_usable(const Flow& flow) const;
    std::vector<CellResult> measure_cell(const Cell& cell, const Buffers& buffers, PeerAccess& peers, double seconds);
    void add(CellResult& result, const Route& route, const Summary& rate, const std::vector<int>& cpus,
             const LinkState& link) const;
    std::vector<CellResult> measure_latched(const Cell& cell, const Buffers& buffers, double seconds);
    std::vector<CellResult> measure_latencies(const Cell& cell, const Buffers& buffers, double seconds);
    CellResult measure_windowed(const Cell& cell, const Buffers& buffers, double seconds);
    std::vector<TaskProcess> start_processes(const Flow& flow, std::size_t chunk) const;
    double probed_rate(const Route& route);
    const Summary& solo(const Flow& flow, const Buffers& buffers, double seconds);
    LinkState look_under_load(const GpuDevice& gpu);
    std::vector<GpuUnderLoad> gpus_under_load(const std::vector<int>& wanted) const;
};

}  // namespace nearfar
