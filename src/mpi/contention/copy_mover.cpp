// Copies between a GPU and host memory as what moves beside MPI, through the same code as nearfar-copy's windows.
#include "gpu/buffers.h"
#include "gpu/gpu_call.h"
#include "gpu/open_gpus.h"
#include "gpu/route.h"
#include "gpu/route_plan.h"
#include "gpu/windowed.h"
#include "mpi/contention/data_mover.h"
#include "node/cpus.h"

namespace nearfar {
namespace {

constexpr double warm_up_seconds = 0.3;

struct Copies {
    Node node;
    OpenGpus gpus;
    Buffers buffers;
    std::vector<Route> routes{};

    Copies(const Node& node_, bool even_if_busy) : node(node_), gpus(node, even_if_busy), buffers(node, gpus.all()) {}
};

}  // namespace

DataMovers copy_movers(const Node& node, const Cell& cell, const std::vector<std::vector<int>>& cpus, bool even_if_busy) {
    const auto copies = std::make_shared<Copies>(node, even_if_busy);
    copies->gpus.open({cell.flows[0].gpu()});
    for (const Flow& flow : cell.flows) require_gpus(flow, copies->gpus.all());
    copies->buffers.plan(cell);
    copies->buffers.allocate_host();
    copies->buffers.allocate_device_and_register();
    const std::vector<FlowBuffers> keys = buffers_of(cell);
    copies->routes.reserve(cell.flows.size());
    DataMovers movers{copies, {}, {}};
    for (std::size_t i = 0; i < cell.flows.size(); ++i) {
        const GpuDevice& gpu = driving_gpu(cell.flows[i], copies->gpus.all());
        Route& route = copies->routes.emplace_back(cell.flows[i], keys[i], copies->buffers, gpu, gpu, cpus[i]);
        bind_thread(cpus[i]);
        const std::size_t chunk = chunk_for(probe_rate(route, warm_up_seconds), route.bytes(), ChunkLength::short_one);
        movers.flows.push_back(checked_mover(route, chunk, i));
        movers.memory_nodes.push_back(route.memory_nodes());
    }
    return movers;
}

std::string mover_cuda_version() { return compiled_cuda_version(); }

}  // namespace nearfar
