// Which GPU drives a flow, which one checks it, and on which CPUs the driving thread runs.
#pragma once

#include <optional>
#include <vector>

#include "cell/results.h"
#include "gpu/gpu_device.h"
#include "gpu/route.h"
#include "node/node.h"

namespace nearfar {

const GpuDevice& driving_gpu(const Flow& flow, const std::vector<GpuDevice>& gpus);

// Throws the reason why one of the flow's GPUs cannot be measured, if there is one.
void require_gpus(const Flow& flow, const std::vector<GpuDevice>& gpus);

// A host flow's `@` node or the memory's own; between and within GPUs those near the driving one, or all that are allowed.
std::vector<int> driving_cpus(const Flow& flow, const Node& node, const std::vector<GpuDevice>& gpus);

// Routes over one flow's buffers, one for each of `threads` threads that share it.
std::vector<Route> plan_routes(const Flow& flow, const FlowBuffers& keys, const Buffers& buffers, const Node& node,
                               const std::vector<GpuDevice>& gpus, int threads);

// GB/s in one direction over the flow's links, or of copies within a GPU's memory; nothing where it is not known.
std::optional<double> flow_ceiling(const Flow& flow, const std::vector<GpuDevice>& gpus);

// NVLink lanes between a peer flow's two GPUs; 0 where none are known.
int lanes_between(const Flow& flow, const std::vector<GpuDevice>& gpus);

// What a route's flow reports: its rate, with where and over which link it was driven.
FlowResult flow_result(const Route& route, const Summary& rate, const std::vector<int>& cpus, const LinkState& link,
                       const std::vector<GpuDevice>& gpus);

}  // namespace nearfar
