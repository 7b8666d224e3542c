#include "mpi/contention/copy_mover.h"

#include <algorithm>

#include "gpu/buffers.h"
#include "gpu/gpu_call.h"
#include "gpu/gpu_device.h"
#include "gpu/route.h"
#include "gpu/route_plan.h"
#include "gpu/windowed.h"
#include "node/cpus.h"
#include "node/nvml.h"

namespace nearfar {
namespace {

constexpr double warm_up_seconds = 0.3;

class CopyMover : public DataMover {
public:
    CopyMover(const Node& node, const Cell& cell, const std::vector<std::vector<int>>& cpus, bool even_if_busy)
        : cell_(cell), node_(node), gpus_(open(node_, nvml_, cell_, even_if_busy)), buffers_(node_, gpus_) {
        for (const Flow& flow : cell_.flows) require_gpus(flow, gpus_);
        buffers_.plan(cell_);
        buffers_.allocate_host();
        buffers_.allocate_device_and_register();
        const std::vector<FlowBuffers> keys = buffers_of(cell_);
        routes_.reserve(cell_.flows.size());
        for (std::size_t i = 0; i < cell_.flows.size(); ++i) {
            const GpuDevice& gpu = driving_gpu(cell_.flows[i], gpus_);
            routes_.emplace_back(cell_.flows[i], keys[i], buffers_, gpu, gpu, cpus[i]);
            bind_thread(cpus[i]);
            chunks_.push_back(chunk_for(probe_rate(routes_[i], warm_up_seconds), routes_[i].bytes(), ChunkLength::short_one));
        }
    }

    const Cell& cell() const override { return cell_; }
    std::size_t chunk(std::size_t flow) const override { return chunks_[flow]; }
    const std::vector<int>& memory_nodes(std::size_t flow) const override { return routes_[flow].memory_nodes(); }
    void poison() override {
        for (std::size_t i = 0; i < routes_.size(); ++i) begin_chunks(routes_[i], chunks_[i]);
    }
    void move(std::size_t flow, FlowThread& thread) override { move_chunks(routes_[flow], thread); }
    void verify() override {
        for (Route& route : routes_) route.verify();
    }

private:
    Nvml nvml_;
    Cell cell_;
    const Node& node_;
    std::vector<GpuDevice> gpus_;
    Buffers buffers_;
    std::vector<Route> routes_;
    std::vector<std::size_t> chunks_;

    static std::vector<GpuDevice> open(const Node& node, const Nvml& nvml, const Cell& cell, bool even_if_busy) {
        const int index = cell.flows[0].gpu();
        std::vector<GpuDevice> gpus = find_gpus(node, nvml, start_cuda(), even_if_busy);
        open_gpus(gpus, {index});
        return gpus;
    }
};

}  // namespace

std::unique_ptr<DataMover> make_copy_mover(const Node& node, const Cell& cell, const std::vector<std::vector<int>>& cpus,
                                           bool even_if_busy) {
    return std::make_unique<CopyMover>(node, cell, cpus, even_if_busy);
}

std::string mover_cuda_version() { return compiled_cuda_version(); }

}  // namespace nearfar
