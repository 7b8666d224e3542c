// The memory that cells move data between: planned for all cells, allocated and registered once, reused by every cell.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "cell/cell.h"
#include "gpu/gpu_device.h"
#include "gpu/gpu_handles.h"
#include "gpu/host_registration.h"
#include "memory/host_memory.h"

namespace nearfar {

// Bytes of a buffer, if nothing else is asked for: a lone copy's size, and the ring of a windowed flow. Where the copy stays on
// GPUs, and is over sooner, twice as much.
extern const std::size_t buffer_bytes;
constexpr std::size_t on_gpus_factor = 2;
constexpr std::size_t buffer_grain = std::size_t{2} << 20;

// Bytes of the buffers of each of several processes that share a flow, whose buffer alone has `whole`.
std::size_t task_buffer_bytes(int tasks, std::size_t whole = buffer_bytes);

// Which of a cell's buffers on one place; flows of a cell never share one, nor do the two ends of a flow within one GPU.
struct BufferKey {
    Endpoint place;  // numa_memory or gpu_memory
    bool written;    // the destination of a flow
    bool pageable;
    bool huge;
    bool on_gpus;   // of a flow that stays on GPUs
    bool at_sizes;  // of a cell that is measured at sizes
    bool stream;    // the three arrays of a flow that is STREAM by a GPU
    int ordinal;
    bool operator<(const BufferKey& other) const;
};

// The two buffers of each flow of a cell, sources and destinations; of STREAM by a GPU both are its arrays, and of other flows that do
// not copy they mean nothing.
struct FlowBuffers {
    BufferKey source;
    BufferKey destination;
};
std::vector<FlowBuffers> buffers_of(const Cell& cell);

// A buffer as both sides address it.
struct Buffer {
    void* on_host = nullptr;    // host memory only
    int gpu_ordinal = -1;       // device memory only
    void* on_device = nullptr;  // device memory only
    std::uint64_t seed = 0;     // of the pattern that a source holds
    std::size_t bytes = 0;      // to move, or of each array; it is larger by spare_bytes
    std::string smaller;        // why an array is less than usual; empty: it is not
    std::vector<int> memory_nodes;
    bool mapped = false;  // registered: every GPU addresses it
};

// As kernels address it; null where it is not registered.
char* kernel_address(const Buffer& buffer);

class Buffers {
public:
    // Every buffer of a host flow has `bytes`, a multiple of 2 MiB; of a cell that is measured at sizes the `largest` of them.
    Buffers(const Node& node, const std::vector<GpuDevice>& gpus, std::size_t bytes = buffer_bytes, std::size_t largest = 0)
        : node_(node), gpus_(gpus), bytes_(bytes), largest_((largest + buffer_grain - 1) / buffer_grain * buffer_grain) {}

    std::size_t bytes() const { return bytes_; }
    void plan(const Cell& cell);
    // Host memory, bound, filled and verified; needs no context yet. What cannot be had is told when it is asked for; what is
    // there already stays.
    void allocate_host();
    // Device memory, and host memory registered with CUDA; likewise. Arrays of STREAM hold nothing yet.
    void allocate_device_and_register();
    // The bytes of a buffer, if nothing larger is asked for.
    std::size_t usual_bytes(const BufferKey& key) const;
    // Whether one of a flow's two buffers is smaller than `bytes`, and was not refused so much before.
    bool can_be_enlarged(const FlowBuffers& flow, std::size_t bytes) const;
    // Makes both of at least `bytes`, while nobody uses them. One for which memory is too short stays as it is.
    void enlarge(const FlowBuffers& flow, std::size_t bytes);
    // Throws why the buffer is not to be had.
    const Buffer& at(const BufferKey& key) const;

private:
    struct Entry {
        Buffer buffer;
        std::unique_ptr<HostBuffer> host;
        LockedPages locked;
        GpuMemory<void> device;
        std::exception_ptr trouble;
        std::size_t refused = SIZE_MAX;  // bytes that memory was too short for
    };
    const Node& node_;
    const std::vector<GpuDevice>& gpus_;
    std::size_t bytes_;
    std::size_t largest_;
    std::map<BufferKey, Entry> entries_;

    void make_host(const BufferKey& key, Entry& entry) const;
    void make_device(const BufferKey& key, Entry& entry) const;
    void fit_arrays(const BufferKey& key, Buffer& buffer) const;
    void lock_pages(Entry& entry) const;
};

}  // namespace nearfar
