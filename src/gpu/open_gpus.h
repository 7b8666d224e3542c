// GPUs that stop answering in the middle of a session.
#pragma once

#include <exception>
#include <string>
#include <vector>

#include "cell/cell.h"
#include "core/error.h"
#include "gpu/gpu_device.h"
#include "node/nvml.h"

namespace nearfar {

class LostGpus {
public:
    // `wanted`: the GPUs of the session's cells.
    LostGpus(std::vector<GpuDevice>& gpus, const Nvml& nvml, std::vector<int> wanted)
        : gpus_(gpus), nvml_(nvml), wanted_(std::move(wanted)) {}

    // Looks which GPUs of a cell that failed answer no more, gives them that reason, so that the rest of their cells fails at once,
    // and returns the failure with their names; `why` itself where all of them answer. Where GPUs beside the cell's, or all of
    // several of its own, answer no more, the process is at its end: of several nobody knows then which was lost, and none gets the blame.
    Failure blame(const Cell& cell, const Failure& why);
    // The same of what a cell threw before, if it threw: what is no Failure stays as it is.
    std::exception_ptr blame(const Cell& cell, const std::exception_ptr& trouble);

    // Why nothing more can be measured by this process; empty while it can.
    const std::string& end_of_process() const { return end_of_process_; }
    // Throws ProcessSpent, if it is so.
    void require_process() const;

private:
    std::vector<GpuDevice>& gpus_;
    const Nvml& nvml_;
    std::vector<int> wanted_;
    std::string end_of_process_;

    // Why a GPU answers no more; empty where it does.
    std::string trouble_of(const GpuDevice& gpu) const;
    // Makes a GPU that answers the calling thread's present one.
    void leave_lost() const;
};

}  // namespace nearfar
