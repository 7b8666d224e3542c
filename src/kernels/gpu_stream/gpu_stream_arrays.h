// The arrays of STREAM on GPUs: three on each memory that cells name, and once more where several flows of a cell use the same.
#pragma once

#include <cstddef>
#include <exception>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cell/cell.h"
#include "gpu/gpu_device.h"
#include "gpu/gpu_handles.h"
#include "gpu/host_registration.h"
#include "memory/host_memory.h"
#include "node/node.h"

namespace nearfar {

// As kernels address them: a and b hold their values and a turn more of them, c has room for the steps of a series.
struct GpuStreamArrays {
    double* a = nullptr;
    double* b = nullptr;
    double* c = nullptr;
    std::size_t bytes = 0;  // of each array that a pass works through
    std::string smaller;    // why it is less than usual; empty: it is not
    std::vector<int> memory_nodes;
};

class GpuStreamMemory {
public:
    GpuStreamMemory(const Node& node, const std::vector<GpuDevice>& gpus) : node_(node), gpus_(gpus) {}

    void plan(const Cell& cell);
    // Host memory, bound, touched and looked at; needs no context. What cannot be had is told when it is asked for.
    void allocate_host();
    // Device memory, and host memory registered with CUDA; fills all with values. Likewise.
    void allocate_device_and_register();
    // Of a cell's flow, by its position. Throws why they are not to be had.
    const GpuStreamArrays& at(const Cell& cell, std::size_t flow) const;

private:
    using Key = std::pair<std::string, std::size_t>;  // the memory, and which of those that a cell has on it
    struct Entry {
        Endpoint place;
        GpuStreamArrays arrays;
        GpuMemory<void> device;
        std::unique_ptr<HostBuffer> host;
        LockedPages locked;
        std::exception_ptr trouble;
    };
    const Node& node_;
    const std::vector<GpuDevice>& gpus_;
    std::map<Key, Entry> entries_;

    static Key key_of(const Cell& cell, std::size_t flow);
    std::size_t host_array_bytes() const;
    const GpuDevice* filler_of(const Entry& entry) const;
    void make_host(Entry& entry) const;
    void make_device(Entry& entry) const;
    void lock_pages(Entry& entry) const;
    void fill(Entry& entry) const;
};

}  // namespace nearfar
