// Who else is on the GPUs, and what their links have counted, asked of the driver at the start and at the end of a run by a process of its
// own: a driver that hangs holds up nobody but that process.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/line_channel.h"
#include "node/nvml.h"

namespace nearfar {

struct SeenGpu {
    std::string pci;
    std::vector<GpuProcess> processes;
    std::vector<LinkCounter> counters;
};

struct GpuLook {
    std::string trouble;  // why nothing is known
    std::vector<SeenGpu> gpus;
    bool lists_processes = false;  // the driver does for one GPU at least
};

class GpuWatch {
public:
    // Starts the process, which looks at once.
    GpuWatch();
    ~GpuWatch();
    GpuWatch(const GpuWatch&) = delete;
    GpuWatch& operator=(const GpuWatch&) = delete;

    // Looks again, and gives the first look and the last; each waits a little for a driver that is slow.
    std::pair<GpuLook, GpuLook> end();

private:
    std::optional<LineChannel> channel_;
    pid_t process_ = -1;

    GpuLook receive();
};

}  // namespace nearfar
