#include "gpu/route_plan.h"

#include "node/link_ceiling.h"

namespace nearfar {
namespace {

const GpuDevice& at(const std::vector<GpuDevice>& gpus, int index) { return gpus[static_cast<std::size_t>(index)]; }

}  // namespace

const GpuDevice& driving_gpu(const Flow& flow, const std::vector<GpuDevice>& gpus) { return at(gpus, flow.driving_gpu()); }

void require_gpus(const Flow& flow, const std::vector<GpuDevice>& gpus) {
    for (const Endpoint& end : {flow.source, flow.destination})
        if (end.place == Place::gpu_memory) at(gpus, end.index).require();
}

std::vector<int> driving_cpus(const Flow& flow, const Node& node, const std::vector<GpuDevice>& gpus) {
    if (flow.is_host_flow()) return node.driving_cpus(flow.driver ? flow.driver->index : flow.numa_node());
    const std::optional<int> near = driving_gpu(flow, gpus).on_bus.numa_node;
    return near ? node.nearest_cpus(*near) : node.allowed_cpus;
}

std::vector<Route> plan_routes(const Flow& flow, const FlowBuffers& keys, const Buffers& buffers, const Node& node,
                               const std::vector<GpuDevice>& gpus, int threads) {
    const std::vector<int> cpus = driving_cpus(flow, node, gpus);
    const GpuDevice& driver = driving_gpu(flow, gpus);
    const GpuDevice& checker = flow.is_peer_flow() ? at(gpus, flow.destination.index) : driver;
    std::vector<Route> routes;
    routes.reserve(static_cast<std::size_t>(threads));
    for (int share = 0; share < threads; ++share) routes.emplace_back(flow, keys, buffers, driver, checker, cpus, share, threads);
    return routes;
}

std::optional<double> flow_ceiling(const Flow& flow, const std::vector<GpuDevice>& gpus) {
    if (flow.is_host_flow()) return driving_gpu(flow, gpus).ceiling();
    if (flow.is_local_flow()) return driving_gpu(flow, gpus).local_ceiling();
    if (flow.staged) return {};
    return nvlink_ceiling(at(gpus, flow.source.index).management.nvlink_generation, lanes_between(flow, gpus));
}

int lanes_between(const Flow& flow, const std::vector<GpuDevice>& gpus) {
    const GpuDevice& source = at(gpus, flow.source.index);
    const GpuDevice& destination = at(gpus, flow.destination.index);
    return nvlinks_between(source.management, source.on_bus.pci, destination.management, destination.on_bus.pci);
}

FlowResult flow_result(const Route& route, const Summary& rate, const std::vector<int>& cpus, const LinkState& link,
                       const std::vector<GpuDevice>& gpus) {
    FlowResult result;
    result.flow = route.flow();
    result.rate = rate;
    result.ceiling = flow_ceiling(route.flow(), gpus);
    result.cpus = cpus;
    result.memory_nodes = route.memory_nodes();
    result.link = link;
    return result;
}

}  // namespace nearfar
