#include "kernels/gpu_stream/gpu_stream_arrays.h"

#include <algorithm>

#include "core/error.h"
#include "core/trouble.h"
#include "gpu/gpu_call.h"
#include "gpu/gpu_kernels.h"
#include "kernels/gpu_stream/gpu_stream_kernels.h"
#include "kernels/stream/stream_size.h"
#include "memory/copy_series.h"
#include "memory/memory_plan.h"

namespace nearfar {
namespace {

constexpr std::size_t arrays_each = 3;

void lay_out(GpuStreamArrays& arrays, void* begin, std::size_t bytes) {
    auto* const first = static_cast<char*>(begin);
    arrays.bytes = bytes;
    arrays.a = reinterpret_cast<double*>(first);
    arrays.b = reinterpret_cast<double*>(first + bytes + spare_bytes);
    arrays.c = reinterpret_cast<double*>(first + 2 * (bytes + spare_bytes));
}

std::string mebibytes(std::size_t bytes) { return std::to_string(bytes >> 20) + " MiB"; }

}  // namespace

GpuStreamMemory::Key GpuStreamMemory::key_of(const Cell& cell, std::size_t flow) {
    std::size_t earlier = 0;
    for (std::size_t i = 0; i < flow; ++i)
        if (cell.flows[i].destination == cell.flows[flow].destination) ++earlier;
    return {cell.flows[flow].destination.text(), earlier};
}

void GpuStreamMemory::plan(const Cell& cell) {
    for (std::size_t i = 0; i < cell.flows.size(); ++i) {
        Entry& entry = entries_[key_of(cell, i)];
        entry.place = cell.flows[i].destination;
    }
}

// Of the GPUs' caches the largest counts: any of them may read it.
std::size_t GpuStreamMemory::host_array_bytes() const {
    std::size_t cache = 0;
    for (const GpuDevice& gpu : gpus_)
        if (gpu.ordinal >= 0) cache = std::max(cache, gpu.cache());
    std::size_t bytes = host_stream_array;
    while (bytes < 4 * cache) bytes *= 2;
    return bytes;
}

void GpuStreamMemory::allocate_host() {
    MemoryPlan plan;
    const std::size_t bytes = host_array_bytes();
    for (auto& [key, entry] : entries_) {
        if (entry.place.place != Place::numa_memory) continue;
        entry.trouble = thrown_by([&, &entry = entry] {
            plan.add(entry.place.index, whole_huge_pages(arrays_each * (bytes + spare_bytes)), HostPages::ordinary);
        });
        entry.arrays.bytes = bytes;
    }
    for (auto& [key, entry] : entries_)
        if (entry.place.place == Place::numa_memory && !entry.trouble)
            entry.trouble = thrown_by([&, &entry = entry] { make_host(entry); });
}

void GpuStreamMemory::make_host(Entry& entry) const {
    entry.host = std::make_unique<HostBuffer>(node_, entry.place.index, arrays_each * (entry.arrays.bytes + spare_bytes),
                                              HostPages::ordinary, 1);
    entry.arrays.memory_nodes = entry.host->memory_nodes();
}

void GpuStreamMemory::make_device(Entry& entry) const {
    const GpuDevice& gpu = gpus_[static_cast<std::size_t>(entry.place.index)];
    gpu.require();
    check(cudaSetDevice(gpu.ordinal), "cudaSetDevice");
    std::size_t free = 0;
    std::size_t total = 0;
    check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
    std::size_t to_come = 0;  // other sets on this GPU
    for (const auto& [key, other] : entries_)
        if (other.place == entry.place && !other.device && !other.trouble) ++to_come;
    const std::size_t wanted = wanted_stream_array(gpu_stream_array, gpu.cache());
    const std::size_t bytes = fitting_stream_array(wanted, gpu.cache(), free, to_come);
    const std::string have = mebibytes(free) + " of " + gpu.name() + "'s memory are free";
    if (bytes == 0) throw Prevented("no_memory", have + ": too few for three arrays that its caches do not hold");
    if (bytes < wanted)
        entry.arrays.smaller = "arrays of " + mebibytes(bytes) + " in the place of " + mebibytes(wanted) + ": " + have;
    entry.device = make_memory<void>(arrays_each * (bytes + spare_bytes));
    lay_out(entry.arrays, entry.device.get(), bytes);
}

const GpuDevice* GpuStreamMemory::filler_of(const Entry& entry) const {
    if (entry.place.place == Place::gpu_memory) return &gpus_[static_cast<std::size_t>(entry.place.index)];
    const auto found = std::find_if(gpus_.begin(), gpus_.end(), [](const GpuDevice& gpu) { return gpu.open; });
    return found == gpus_.end() ? nullptr : &*found;
}

void GpuStreamMemory::lock_pages(Entry& entry) const {
    const GpuDevice* const any = filler_of(entry);
    if (any == nullptr) throw Prevented("missing_library", "no GPU of this process can use host memory");
    entry.locked = nearfar::lock_pages(entry.host->data(), entry.host->bytes(), *any);
    entry.host->require_placement();
    void* address = nullptr;
    check(cudaHostGetDevicePointer(&address, entry.host->data(), 0), "cudaHostGetDevicePointer");
    lay_out(entry.arrays, address, entry.arrays.bytes);
}

void GpuStreamMemory::fill(Entry& entry) const {
    check(cudaSetDevice(filler_of(entry)->ordinal), "cudaSetDevice");
    queue_stream_values(entry.arrays.a, entry.arrays.b, (entry.arrays.bytes + spare_bytes) / sizeof(double), nullptr);
    check(cudaDeviceSynchronize(), "filling STREAM's arrays");
}

void GpuStreamMemory::allocate_device_and_register() {
    for (auto& [key, entry] : entries_) {
        if (entry.trouble) continue;
        entry.trouble = thrown_by([&, &entry = entry] {
            if (entry.place.place == Place::gpu_memory)
                make_device(entry);
            else
                lock_pages(entry);
            fill(entry);
        });
        if (entry.trouble) cudaGetLastError();  // is told to the next caller otherwise
    }
}

const GpuStreamArrays& GpuStreamMemory::at(const Cell& cell, std::size_t flow) const {
    const Entry& entry = entries_.at(key_of(cell, flow));
    if (entry.trouble) std::rethrow_exception(entry.trouble);
    return entry.arrays;
}

}  // namespace nearfar
