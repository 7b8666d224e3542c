// STREAM by GPUs: on their own memory, on another GPU's, on the host's.
#pragma once

#include <optional>
#include <vector>

#include "cell/policy.h"
#include "cell/results.h"
#include "copy/latched.h"
#include "engine/rounds.h"
#include "gpu/gpu_device.h"
#include "gpu/load_watch.h"
#include "gpu/lost_gpu.h"
#include "gpu/peer_access.h"
#include "kernels/gpu_stream/gpu_stream.h"
#include "kernels/gpu_stream/gpu_stream_arrays.h"
#include "kernels/gpu_stream/gpu_stream_series.h"
#include "node/node.h"
#include "node/nvml.h"

namespace nearfar {

class GpuStreamBench {
public:
    // Starts CUDA for these cells, which measure() measures.
    GpuStreamBench(const Node& node, const Nvml& nvml, const Policy& policy, const std::vector<Cell>& cells);

    const std::vector<GpuDevice>& gpus() const { return gpus_; }

    // Measures the cells, and those of cores, in rounds into `session`. `end` is called when all were, before anything is taken down.
    void measure(const CoreCells& of_cores, Session& session, const Progress& progress, const std::function<void()>& end);

private:
    const Node& node_;
    const Policy policy_;
    std::vector<Cell> cells_;
    std::vector<GpuDevice> gpus_;
    LostGpus lost_;
    LoadWatch watch_;

    void set_up(GpuStreamMemory& memory, Session& session);
    std::vector<GpuStreamSeries> series_of(const Cell& cell, const GpuStreamMemory& memory) const;
    CellResult measure_cell(const Cell& cell, double seconds, const GpuStreamMemory& memory);
    CellResult measure_latched(GpuStreamSeries& series, double seconds);
    CellResult measure_windowed(std::vector<GpuStreamSeries>& all, double seconds);
    FlowResult flow_result(const GpuStreamSeries& series, const Summary& rate, const std::vector<int>& cpus,
                           const LinkState& link) const;
    std::optional<double> ceiling_of(const Flow& flow) const;
};

}  // namespace nearfar
