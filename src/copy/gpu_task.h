// A task of /xK that moves bytes by a GPU: the program's own code, in another process.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gpu/buffers.h"
#include "gpu/gpu_device.h"
#include "gpu/peer_access.h"
#include "gpu/route.h"
#include "node/node.h"
#include "tasks/task_pool.h"
#include "tasks/task_worker.h"

namespace nearfar {

class GpuTask : public TaskWork {
public:
    // Starts CUDA for these GPUs, by number, without opening them.
    GpuTask(const Node& node, const GpuSet& wanted);

    void open() override;
    void set_up(const Assignment& assignment) override;
    void move(const std::function<bool()>& stopped, const std::function<void(double)>& complete) override;
    Verified verify() override;

private:
    const Node& node_;
    GpuSet wanted_;
    std::vector<GpuDevice> gpus_;
    PeerAccess peers_;
    std::optional<Buffers> buffers_;  // of all assignments so far
    std::vector<Route> routes_;       // one
};

// This process's environment, as start_cuda() has not changed it yet.
std::vector<std::string> present_environment();

// This same program as a task on some of its GPUs, with `environment` as this one was given it.
TaskCommand gpu_task_command(const GpuSet& wanted, const Node& node, const std::vector<GpuDevice>& gpus,
                             const std::vector<std::string>& environment);

}  // namespace nearfar
