#include "copy/aggressor_process.h"

#include "cell/aggressors.h"
#include "copy/gpu_task.h"
#include "gpu/route_plan.h"
#include "gpu/windowed.h"
#include "tasks/background_process.h"

namespace nearfar {
namespace {

constexpr double usual_rate = 50;  // GB/s, where no ceiling is known: chunks are then somewhat shorter or longer

}  // namespace

std::vector<BackgroundFlow> aggressor_flows(const std::vector<Cell>& aggressors, const Node& node,
                                            const std::vector<GpuDevice>& gpus, const std::vector<std::string>& environment,
                                            double patience) {
    const TaskPool::Command command = [&node, &gpus, environment](const GpuSet& wanted) {
        for (const int gpu : wanted) gpus[static_cast<std::size_t>(gpu)].require();
        return gpu_task_command(wanted, node, gpus, environment);
    };
    std::vector<BackgroundFlow> found;
    for (const Flow& flow : flows_of(aggressors)) {
        const std::size_t bytes = task_buffer_bytes(flow.tasks);
        const std::size_t chunk =
            chunk_for(flow_ceiling(flow, gpus).value_or(usual_rate), bytes, ChunkLength::short_one, flow.tasks);
        for (int task = 0; task < flow.tasks; ++task)
            found.push_back(background_process({flow, bytes, chunk}, command, patience));
    }
    return found;
}

}  // namespace nearfar
