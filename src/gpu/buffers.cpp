#include "gpu/buffers.h"

#include <algorithm>
#include <exception>

#include "core/error.h"
#include "core/joined_threads.h"
#include "core/trouble.h"
#include "gpu/chunks.h"
#include "gpu/gpu_call.h"
#include "gpu/gpu_kernels.h"
#include "memory/copy_series.h"

namespace nearfar {
namespace {

constexpr std::size_t least_task_buffer = std::size_t{16} << 20;

const GpuDevice* open_gpu(const std::vector<GpuDevice>& gpus) {
    const auto found = std::find_if(gpus.begin(), gpus.end(), [](const GpuDevice& gpu) { return gpu.open; });
    return found == gpus.end() ? nullptr : &*found;
}

// With what is behind the bytes that count.
std::size_t whole(const BufferKey& key, std::size_t bytes) { return (key.stream ? stream_arrays : 1) * (bytes + spare_bytes); }

HostPages pages_of(const BufferKey& key) { return key.huge ? HostPages::huge : HostPages::ordinary; }

}  // namespace

bool BufferKey::operator<(const BufferKey& other) const {
    return std::tie(place.place, place.index, written, pageable, huge, on_gpus, at_sizes, stream, ordinal) <
           std::tie(other.place.place, other.place.index, other.written, other.pageable, other.huge, other.on_gpus,
                    other.at_sizes, other.stream, other.ordinal);
}

std::vector<FlowBuffers> buffers_of(const Cell& cell) {
    std::map<BufferKey, int> used;
    const bool at_sizes = cell.aspect == Aspect::sizes;
    const auto take = [&](const Endpoint& place, bool written, const Flow& flow) {
        const bool host = place.place == Place::numa_memory;
        BufferKey key{
            place, written, host && flow.pageable, host && flow.huge, flow.stays_on_gpus(), at_sizes, flow.is_gpu_stream_flow(),
            0};
        const int ordinal = used[key]++;
        key.ordinal = ordinal;
        return key;
    };
    std::vector<FlowBuffers> taken;
    for (const Flow& flow : cell.flows) {
        FlowBuffers& buffers = taken.emplace_back();
        if (flow.is_copy()) buffers.source = take(flow.source, false, flow);
        if (flow.is_copy() || flow.is_gpu_stream_flow()) buffers.destination = take(flow.destination, true, flow);
        if (flow.is_gpu_stream_flow()) buffers.source = buffers.destination;
    }
    return taken;
}

std::size_t task_buffer_bytes(int tasks, std::size_t whole) {
    return std::max(least_task_buffer, whole / static_cast<std::size_t>(tasks) / buffer_grain * buffer_grain);
}

char* kernel_address(const Buffer& buffer) {
    if (buffer.on_device != nullptr) return static_cast<char*>(buffer.on_device);
    if (!buffer.mapped) return nullptr;
    void* address = nullptr;
    check(cudaHostGetDevicePointer(&address, buffer.on_host, 0), "cudaHostGetDevicePointer");
    return static_cast<char*>(address);
}

std::size_t Buffers::usual_bytes(const BufferKey& key) const {
    if (!key.stream) return key.at_sizes ? largest_ : key.on_gpus ? bytes_ * on_gpus_factor : bytes_;
    if (key.place.place == Place::gpu_memory)
        return wanted_stream_array(gpu_stream_array, gpus_[static_cast<std::size_t>(key.place.index)].cache());
    std::size_t cache = 0;  // of any GPU, which may read it; a smaller array will do
    for (const GpuDevice& gpu : gpus_)
        if (gpu.ordinal >= 0) cache = std::max(cache, gpu.cache());
    return wanted_stream_array(host_stream_array, cache / 4);
}

void Buffers::plan(const Cell& cell) {
    const std::vector<FlowBuffers> flows = buffers_of(cell);
    for (std::size_t i = 0; i < flows.size(); ++i) {
        if (!cell.flows[i].is_copy() && !cell.flows[i].is_gpu_stream_flow()) continue;
        for (const BufferKey& key : {flows[i].source, flows[i].destination}) {
            Entry& entry = entries_[key];
            entry.buffer.bytes = std::max(entry.buffer.bytes, usual_bytes(key));
            // Different everywhere, so that data of another buffer never passes for this one's.
            if (entry.buffer.seed == 0) entry.buffer.seed = (static_cast<std::uint64_t>(entries_.size()) << 44) + 1;
        }
    }
}

void Buffers::allocate_host() {
    MemoryPlan plan;
    JoinedThreads workers;
    const auto is_wanted = [](const BufferKey& key, const Entry& entry) {
        return key.place.place == Place::numa_memory && !entry.host && !entry.trouble;
    };
    for (auto& [key, entry] : entries_) {
        if (!is_wanted(key, entry)) continue;
        entry.trouble = thrown_by([&, &key = key, &entry = entry] {
            plan.add(key.place.index, whole_huge_pages(whole(key, entry.buffer.bytes)), pages_of(key));
        });
    }
    for (auto& [key, entry] : entries_) {
        if (!is_wanted(key, entry)) continue;
        workers.start([this, &key = key, &entry = entry] { entry.trouble = thrown_by([&] { make_host(key, entry); }); });
    }
}

void Buffers::make_host(const BufferKey& key, Entry& entry) const {
    entry.host =
        std::make_unique<HostBuffer>(node_, key.place.index, whole(key, entry.buffer.bytes), pages_of(key), entry.buffer.seed);
    entry.buffer.on_host = entry.host->data();
    entry.buffer.memory_nodes = entry.host->memory_nodes();
}

void Buffers::make_device(const BufferKey& key, Entry& entry) const {
    const GpuDevice& gpu = gpus_.at(static_cast<std::size_t>(key.place.index));
    gpu.require();
    check(cudaSetDevice(gpu.ordinal), "cudaSetDevice");
    if (key.stream) fit_arrays(key, entry.buffer);
    const std::size_t bytes = whole(key, entry.buffer.bytes);
    entry.device = make_memory<void>(bytes);
    entry.buffer.on_device = entry.device.get();
    entry.buffer.gpu_ordinal = gpu.ordinal;
    if (key.stream) return;
    queue_fill(entry.buffer.on_device, entry.buffer.seed, bytes / sizeof(std::uint64_t), nullptr);
    check(cudaDeviceSynchronize(), "filling device memory");
}

// Smaller ones where memory is short.
void Buffers::fit_arrays(const BufferKey& key, Buffer& buffer) const {
    const GpuDevice& gpu = gpus_[static_cast<std::size_t>(key.place.index)];
    std::size_t free = 0;
    std::size_t total = 0;
    check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
    const auto to_come = std::count_if(entries_.begin(), entries_.end(), [&](const auto& other) {
        return other.first.place == key.place && !other.second.device && !other.second.trouble;
    });
    const auto mebibytes = [](std::size_t bytes) { return std::to_string(bytes >> 20) + " MiB"; };
    const std::string have = mebibytes(free) + " of " + gpu.name() + "'s memory are free";
    const std::size_t wanted = buffer.bytes;
    buffer.bytes = fitting_stream_array(wanted, gpu.cache(), free, static_cast<std::size_t>(to_come));
    if (buffer.bytes == 0) throw Prevented("no_memory", have + ": too few for three arrays that its caches do not hold");
    if (buffer.bytes < wanted)
        buffer.smaller = "arrays of " + mebibytes(buffer.bytes) + " in the place of " + mebibytes(wanted) + ": " + have;
}

void Buffers::lock_pages(Entry& entry) const {
    const GpuDevice* const any = open_gpu(gpus_);
    if (any == nullptr) return;
    entry.locked = nearfar::lock_pages(entry.buffer.on_host, entry.host->bytes(), *any);
    entry.buffer.mapped = true;
}

void Buffers::allocate_device_and_register() {
    JoinedThreads lookers;  // page-locking may have moved pages; the next buffer is made meanwhile
    for (auto& [key, entry] : entries_) {
        if (entry.trouble) continue;
        bool is_locked = false;
        entry.trouble = thrown_by([&, &key = key, &entry = entry] {
            if (key.place.place == Place::gpu_memory) {
                if (!entry.device) make_device(key, entry);
            } else if (!key.pageable && !entry.locked) {
                lock_pages(entry);
                is_locked = entry.locked != nullptr;
            }
        });
        if (!is_locked) continue;
        const auto look = [&entry = entry] { entry.trouble = thrown_by([&] { entry.host->require_placement(); }); };
        if (const std::exception_ptr refused = thrown_by([&] { lookers.start(look); })) entry.trouble = refused;
    }
}

bool Buffers::can_be_enlarged(const FlowBuffers& flow, std::size_t bytes) const {
    const auto can = [&](const BufferKey& key) {
        const Entry& entry = entries_.at(key);
        return entry.buffer.bytes < bytes && bytes < entry.refused;
    };
    return can(flow.source) || can(flow.destination);
}

void Buffers::enlarge(const FlowBuffers& flow, std::size_t bytes) {
    for (const BufferKey& key : {flow.source, flow.destination}) {
        Entry& entry = entries_.at(key);
        if (entry.buffer.bytes >= bytes || bytes >= entry.refused) continue;
        Entry larger;
        larger.buffer.seed = entry.buffer.seed;
        larger.buffer.bytes = bytes;
        try {
            if (key.place.place == Place::gpu_memory) {
                make_device(key, larger);
            } else {
                MemoryPlan().add(key.place.index, whole_huge_pages(whole(key, bytes)), pages_of(key));
                make_host(key, larger);
                if (!key.pageable) lock_pages(larger);
                larger.host->require_placement();
            }
            std::swap(entry, larger);
        } catch (const Prevented&) {
            entry.refused = bytes;
            cudaGetLastError();  // is told to the next caller otherwise
        }
    }
}

const Buffer& Buffers::at(const BufferKey& key) const {
    const Entry& entry = entries_.at(key);
    if (entry.trouble) std::rethrow_exception(entry.trouble);
    return entry.buffer;
}

}  // namespace nearfar
