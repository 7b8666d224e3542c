// How long a GPU's load over a path takes: dependent loads by one thread, each from the address that the last one gave.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cell/policy.h"
#include "gpu/gpu_device.h"
#include "gpu/gpu_handles.h"
#include "gpu/host_registration.h"
#include "gpu/route.h"
#include "memory/host_memory.h"
#include "node/node.h"

namespace nearfar {

// Lines to chase through, one after another, in the memory of one endpoint: larger than any cache on the way, in order of addresses, so
// that what is timed is the path and the memory behind it, and no translation of addresses.
struct ChaseMemory {
    std::unique_ptr<HostBuffer> host{};
    LockedPages locked{};
    GpuMemory<void> device{};
    void* address = nullptr;
    std::uint32_t next_line = 0;  // where the last chase stopped: the next goes on from there, so that no line is near twice
};

// Measures chases; each endpoint's lines are made once and serve every GPU.
class ChaseBench {
public:
    ChaseBench(const Node& node, const std::vector<GpuDevice>& gpus) : node_(node), gpus_(gpus) {}

    // Microseconds for one load of the flow's far memory (host memory, or the other GPU's) by the driving GPU, at most `seconds`; the
    // launch is removed by the difference of a long and a short run.
    Summary latency(const Route& route, const Policy& policy, double seconds);

private:
    const Node& node_;
    const std::vector<GpuDevice>& gpus_;
    std::map<std::string, ChaseMemory> memories_;  // by the endpoint's text

    // `driver` chases; host memory is registered through it.
    ChaseMemory& memory(const Endpoint& place, const GpuDevice& driver);
};

}  // namespace nearfar
