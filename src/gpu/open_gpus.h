// The GPUs that a process measures with: found, opened, looked at while they move data, and named where one stops answering.
#pragma once

#include <cstdint>
#include <exception>
#include <map>
#include <string>
#include <vector>

#include "cell/results.h"
#include "core/error.h"
#include "gpu/gpu_device.h"
#include "node/nvml.h"

namespace nearfar {

class OpenGpus {
public:
    // Starts CUDA and pairs the node's GPUs with NVML's and CUDA's views. `streams_a_gpu`: how many streams of one are busy at once; 0: the
    // environment that CUDA reads is made already.
    OpenGpus(const Node& node, bool even_if_busy, int streams_a_gpu = 0);

    // Of all that the node has, by number.
    const std::vector<GpuDevice>& all() const { return gpus_; }
    const GpuDevice& at(int index) const { return gpus_[static_cast<std::size_t>(index)]; }
    const Nvml& nvml() const { return nvml_; }
    // As the document has them.
    std::vector<DocumentGpu> shown() const;

    // Creates the contexts of those that are wanted, all at once; one that refuses gets its reason.
    void open(std::vector<int> wanted);

    // While the GPU moves data. Returns its link's state.
    LinkState look(const GpuDevice& gpu);
    // What was seen of those that are open, with what their links have counted since.
    std::vector<GpuUnderLoad> under_load() const;

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
    Nvml nvml_;
    std::vector<GpuDevice> gpus_;
    std::vector<int> wanted_;
    std::map<int, std::uint64_t> replays_before_;
    std::map<int, GpuUnderLoad> loads_;
    std::string end_of_process_;

    // Why a GPU answers no more; empty where it does.
    std::string trouble_of(const GpuDevice& gpu) const;
    // Makes a GPU that answers the calling thread's present one.
    void leave_lost() const;
};

}  // namespace nearfar
