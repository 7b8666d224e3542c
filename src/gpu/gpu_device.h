// The GPUs of a node as CUDA sees them: which can be measured, and why the others cannot.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gpu/gpu_runtime.h"
#include "node/node.h"
#include "node/nvml.h"
#include "output/document.h"

namespace nearfar {

struct GpuDevice {
    int index = 0;  // its number in the notation
    PciGpu on_bus;
    NvmlGpu management;
    int ordinal = -1;  // CUDA's number, -1 where CUDA does not show it
    std::string code;  // why it cannot be measured: a code of `skipped` or `failed`; empty: it can
    std::string reason;
    bool failed = false;  // the reason is the node's fault
    bool open = false;    // this process has a context on it

    std::string name() const { return "g" + std::to_string(index); }
    // Throws the reason why it cannot be measured, if there is one.
    void require() const;
    // The ceiling of its host link in either direction, in GB/s; nothing where the link is not PCI Express or not known.
    std::optional<double> ceiling() const;
    // The ceiling of its memory, reading and writing together, in GB/s; likewise.
    std::optional<double> memory_ceiling() const;
    // Bytes of its last-level cache; 0 where CUDA does not tell.
    std::size_t cache() const;
    // The ceiling of copies within its memory in GB/s; nothing where CUDA does not tell the memory's clock or width.
    std::optional<double> local_ceiling() const;
};

// Starts CUDA, after set_cuda_environment() where `streams_a_gpu` is not 0. Call before anything else of it. Returns what went wrong, or an
// empty string.
std::string start_cuda(int streams_a_gpu);

// Pairs the node's GPUs with NVML's and CUDA's views. `trouble` is start_cuda's answer.
std::vector<GpuDevice> find_gpus(const Node& node, const Nvml& nvml, const std::string& trouble, bool even_if_busy);

// Starts CUDA for one stream a GPU and pairs by it alone, for a process whose GPUs another has looked at: asking NVML takes each process its
// time.
std::vector<GpuDevice> find_gpus_by_cuda(const Node& node);

// Creates the contexts of the given GPUs, all at once, and loads the kernels; a GPU that refuses gets its reason.
void open_gpus(std::vector<GpuDevice>& gpus, const std::vector<int>& wanted);

}  // namespace nearfar
