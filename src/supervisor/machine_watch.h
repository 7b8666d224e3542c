// The document's `machine`: who else used this machine while it was measured, on its CPUs and on its GPUs.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "node/machine_use.h"
#include "supervisor/account.h"
#include "supervisor/gpu_watch.h"

namespace nearfar {

class MachineWatch {
public:
    // Of a run that began at `begin` (now()) with the process `program`. `asks_driver`: it uses GPUs, so that somebody may ask
    // after them. `collective`: nothing is looked at before the ranks are known, since those would be taken for others.
    MachineWatch(double begin, pid_t program, bool asks_driver, bool collective);

    // Looks where it is time for that: twice a second, some hundreds of microseconds; else it costs nothing.
    void look(const Account& account);
    // The last look, and JSON of all that was seen.
    std::string end(const Account& account);

private:
    MachineUse use_;
    bool collective_;
    std::optional<GpuWatch> gpus_;

    void add_ranks(const Account& account);  // those of this host
};

}  // namespace nearfar
