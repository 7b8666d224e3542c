#include "tests/emulated_cuda/runtime.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/emulated_cuda/settings.h"

namespace emulated_cuda {
namespace {

constexpr int host = -1;
constexpr int runtime_version = 12020;
constexpr int multiprocessors = 4;
constexpr int memory_kilohertz = 100000;
constexpr int memory_bits = 512;
constexpr int cache = 32 << 10;
constexpr std::size_t page = 4096;

struct Allocation {
    std::size_t bytes;
    int device;  // host: page-locked host memory
    bool registered;
};

// The GPUs that CUDA_VISIBLE_DEVICES leaves, by number or UUID, in its order; all without it.
std::vector<int> visible_gpus() {
    std::vector<int> all;
    for (int gpu = 0; gpu < settings().gpus; ++gpu)
        if (std::count(settings().missing.begin(), settings().missing.end(), gpu) == 0) all.push_back(gpu);
    const char* names = std::getenv("CUDA_VISIBLE_DEVICES");
    if (names == nullptr) return all;
    std::vector<int> chosen;
    std::istringstream in(names);
    for (std::string name; std::getline(in, name, ',');) {
        const auto found =
            std::find_if(all.begin(), all.end(), [&](int gpu) { return name == uuid(gpu) || name == std::to_string(gpu); });
        if (found == all.end()) break;  // CUDA stops at the first that it does not know
        chosen.push_back(*found);
    }
    return chosen;
}

class Runtime {
public:
    const std::vector<int> gpus = visible_gpus();  // by ordinal

    bool is_device(int ordinal) const { return ordinal >= 0 && ordinal < static_cast<int>(gpus.size()); }

    cudaError_t lasting(int device) {
        const std::lock_guard<std::mutex> lock(mutex_);
        const auto found = lost_.find(settings().process_is_lost ? 0 : device);
        return found == lost_.end() ? cudaSuccess : found->second;
    }

    // Whether the process gets a context on a GPU beside those that it has.
    bool opens(int device) {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (opened_.count(device) == 0 && opened_.size() == settings().most_gpus) return false;
        opened_.insert(device);
        return true;
    }

    void lose(int device, cudaError_t error) {
        const std::lock_guard<std::mutex> lock(mutex_);
        lost_.emplace(settings().process_is_lost ? 0 : device, error);
    }

    std::shared_ptr<Stream> own_stream(int device) {
        const std::lock_guard<std::mutex> lock(mutex_);
        std::shared_ptr<Stream>& stream = own_[device];
        if (!stream) streams_.push_back(stream = Stream::create(device));
        return stream;
    }

    std::shared_ptr<Stream> create_stream(int device) {
        const std::shared_ptr<Stream> stream = Stream::create(device);
        const std::lock_guard<std::mutex> lock(mutex_);
        streams_.erase(std::remove_if(streams_.begin(), streams_.end(), [](const auto& known) { return known.expired(); }),
                       streams_.end());
        streams_.push_back(stream);
        return stream;
    }

    // Waits for the streams of a GPU, or of all.
    void wait(int device = host) {
        std::vector<std::shared_ptr<Stream>> streams;
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            for (const std::weak_ptr<Stream>& known : streams_)
                if (const std::shared_ptr<Stream> stream = known.lock())
                    if (device == host || stream->device() == device) streams.push_back(stream);
        }
        for (const std::shared_ptr<Stream>& stream : streams) stream->wait();
    }

    cudaError_t allocate(void** address, std::size_t bytes, int device) {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (device != host && used_[device] + bytes > settings().memory) return cudaErrorMemoryAllocation;
        *address = std::aligned_alloc(page, (bytes + page - 1) / page * page);
        if (*address == nullptr) return cudaErrorMemoryAllocation;
        if (device != host) used_[device] += bytes;
        allocations_[static_cast<char*>(*address)] = {bytes, device, false};
        return cudaSuccess;
    }

    std::size_t used(int device) {
        const std::lock_guard<std::mutex> lock(mutex_);
        return used_[device];
    }

    cudaError_t free(void* address, bool of_host) {
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            const auto found = allocations_.find(static_cast<char*>(address));
            if (found == allocations_.end() || found->second.registered || (found->second.device == host) != of_host)
                return cudaErrorInvalidValue;
            if (!of_host) used_[found->second.device] -= found->second.bytes;
            allocations_.erase(found);
        }
        wait();  // as the driver does
        std::free(address);
        return cudaSuccess;
    }

    cudaError_t add_registered(void* address, std::size_t bytes) {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (address == nullptr || bytes == 0) return cudaErrorInvalidValue;
        const bool is_new = allocations_.emplace(static_cast<char*>(address), Allocation{bytes, host, true}).second;
        return is_new ? cudaSuccess : cudaErrorHostMemoryAlreadyRegistered;
    }

    cudaError_t remove_registered(void* address) {
        wait();
        const std::lock_guard<std::mutex> lock(mutex_);
        const auto found = allocations_.find(static_cast<char*>(address));
        if (found == allocations_.end() || !found->second.registered) return cudaErrorHostMemoryNotRegistered;
        allocations_.erase(found);
        return cudaSuccess;
    }

    // What CUDA knows of the memory at an address; nullptr-like `bytes` of 0 where it knows nothing.
    Allocation allocation(const void* address) {
        const std::lock_guard<std::mutex> lock(mutex_);
        auto after = allocations_.upper_bound(const_cast<char*>(static_cast<const char*>(address)));
        if (after == allocations_.begin()) return {0, host, false};
        const auto& [begin, found] = *--after;
        return static_cast<const char*>(address) < begin + found.bytes ? found : Allocation{0, host, false};
    }

    // Flows of one path share its rate: a copy starts when the path is free. Returns when it will be over.
    double reserve(int from, int to, double seconds, double start) {
        const std::lock_guard<std::mutex> lock(mutex_);
        double& free_from = paths_[{from, to}];
        return free_from = std::max(free_from, start) + seconds;
    }

    cudaError_t give_peer_access(int from, int to) {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (!settings().peer_access || from == to) return cudaErrorInvalidDevice;
        return peers_.insert({from, to}).second ? cudaSuccess : cudaErrorPeerAccessAlreadyEnabled;
    }

    cudaError_t take_peer_access(int from, int to) {
        const std::lock_guard<std::mutex> lock(mutex_);
        return peers_.erase({from, to}) != 0 ? cudaSuccess : cudaErrorPeerAccessNotEnabled;
    }

private:
    std::mutex mutex_;
    std::map<int, cudaError_t> lost_;
    std::map<int, std::shared_ptr<Stream>> own_;
    std::vector<std::weak_ptr<Stream>> streams_;
    std::map<int, std::size_t> used_;
    std::set<int> opened_;
    std::map<char*, Allocation> allocations_;
    std::map<std::pair<int, int>, double> paths_;
    std::set<std::pair<int, int>> peers_;
};

// Never destroyed: streams work on while the process ends.
Runtime& runtime() {
    static Runtime& only = *new Runtime;
    return only;
}

thread_local int device_of_thread = 0;
thread_local bool has_context = false;  // the thread has called something for its GPU
thread_local cudaError_t last_error = cudaSuccess;

double rate_between(int from, int to) {
    if (from == host) return settings().to_gpu;
    if (to == host) return settings().to_host;
    const auto slow = settings().slow.find({from, to});
    return slow == settings().slow.end() ? settings().peer : slow->second;
}

std::shared_ptr<Stream> stream_of(cudaStream_t stream) {
    return stream == nullptr ? runtime().own_stream(device_of_thread) : stream->stream;
}

cudaError_t remember(cudaError_t result) {
    // What is only not ready yet is no error: it is not left behind.
    if (result != cudaSuccess && result != cudaErrorNotReady) last_error = result;
    return result;
}

cudaError_t wait_for(int device, const std::function<void()>& wait) {
    wait();
    return runtime().lasting(device);
}

// Copies from or to host memory that is not page-locked are over when the call returns.
cudaError_t copy(const char* name, void* destination, int to, const void* source, int from, std::size_t bytes,
                 cudaStream_t stream, bool and_wait) {
    const auto is_pageable = [](const void* address, int place) {
        return place == host && runtime().allocation(address).bytes == 0;
    };
    const cudaError_t queued =
        queue_call(name, stream, [=](double start) { return move(destination, to, source, from, bytes, 1, 0, start); });
    if (queued != cudaSuccess || !(and_wait || is_pageable(destination, to) || is_pageable(source, from))) return queued;
    const std::shared_ptr<Stream> on = stream_of(stream);
    return remember(wait_for(on->device(), [&] { on->wait(); }));
}

}  // namespace

int current_device() { return device_of_thread; }

cudaError_t call(const char* name, int device, const std::function<cudaError_t()>& work) {
    const cudaError_t lasting = runtime().lasting(device);
    const Verdict verdict = count_call(name, device);
    if (lasting != cudaSuccess) return remember(lasting);
    if (verdict.lose != cudaSuccess) {
        runtime().lose(device, verdict.lose);
        return remember(verdict.lose);
    }
    return remember(verdict.error != cudaSuccess ? verdict.error : work());
}

cudaError_t call(const char* name, const std::function<cudaError_t()>& work) {
    has_context = true;
    return call(name, device_of_thread, work);
}

cudaError_t queue_call(const char* name, cudaStream_t stream, Stream::Work work) {
    const std::shared_ptr<Stream> on = stream_of(stream);
    const int device = on->device();
    if (const cudaError_t lasting = runtime().lasting(device); lasting != cudaSuccess) return remember(lasting);
    const Verdict verdict = count_call(name, device);
    if (verdict.error != cudaSuccess) return remember(verdict.error);
    if (verdict.stall) on->stall();
    if (verdict.lose != cudaSuccess) {
        if (!verdict.later) {
            runtime().lose(device, verdict.lose);
            return remember(verdict.lose);
        }
        on->queue([device, error = verdict.lose](double start) {
            runtime().lose(device, error);
            return start;
        });
    }
    on->queue([device, slower = verdict.slower, work = std::move(work)](double start) {
        if (runtime().lasting(device) != cudaSuccess) return start;
        const double usual = work(start);
        if (slower <= 1) return usual;
        const double over = start + (usual - start) * slower;
        sleep_until(over);
        return over;
    });
    return cudaSuccess;
}

void lose(int device, cudaError_t error) { runtime().lose(device, error); }

int place_of(const void* address) { return runtime().allocation(address).device; }

double move(void* destination, int destination_place, const void* source, int source_place, std::size_t bytes, int passes,
            std::size_t step, double start) {
    const double seconds = static_cast<double>(bytes) * passes / rate_between(source_place, destination_place);
    const double over = runtime().reserve(source_place, destination_place, seconds + settings().start_seconds, start);
    for (char* to = static_cast<char*>(destination); passes > 0; --passes, to += step) {
        if (leaves_out_copy()) continue;
        std::memmove(to, source, bytes);
        if (settings().wrong && *settings().wrong < bytes) to[*settings().wrong] ^= 1;
    }
    const double done = now();
    if (done >= over) return done;
    sleep_until(over);
    return over;
}

}  // namespace emulated_cuda

using namespace emulated_cuda;

cudaError_t cudaGetDeviceCount(int* count) {
    return call("cudaGetDeviceCount", host, [&] {
        *count = static_cast<int>(runtime().gpus.size());
        if (settings().count_error != 0) return static_cast<cudaError_t>(settings().count_error);
        return *count == 0 ? cudaErrorNoDevice : cudaSuccess;
    });
}

cudaError_t cudaDeviceGetPCIBusId(char* text, int length, int device) {
    return call("cudaDeviceGetPCIBusId", host, [&] {
        if (!runtime().is_device(device)) return cudaErrorInvalidDevice;
        std::snprintf(text, static_cast<std::size_t>(length), "%s",
                      pci_address(runtime().gpus[static_cast<std::size_t>(device)]).c_str());
        return cudaSuccess;
    });
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
    return call("cudaDeviceGetAttribute", device, [&] {
        if (!runtime().is_device(device)) return cudaErrorInvalidDevice;
        switch (attribute) {
            case cudaDevAttrMultiProcessorCount: *value = multiprocessors; return cudaSuccess;
            case cudaDevAttrMemoryClockRate: *value = memory_kilohertz; return cudaSuccess;
            case cudaDevAttrGlobalMemoryBusWidth: *value = memory_bits; return cudaSuccess;
            case cudaDevAttrL2CacheSize: *value = cache; return cudaSuccess;
            default: return cudaErrorInvalidValue;
        }
    });
}

// A thread whose GPU is lost hears of that when it chooses another, which it has from then on.
cudaError_t cudaSetDevice(int device) {
    const cudaError_t lasting = has_context ? runtime().lasting(device_of_thread) : cudaSuccess;
    if (lasting != cudaSuccess && runtime().is_device(device)) {
        device_of_thread = device;
        return remember(lasting);
    }
    return call("cudaSetDevice", device, [&] {
        if (!runtime().is_device(device)) return cudaErrorInvalidDevice;
        if (settings().refusing == runtime().gpus[static_cast<std::size_t>(device)])
            return static_cast<cudaError_t>(settings().refusal);
        if (!runtime().opens(device)) return cudaErrorDevicesUnavailable;
        device_of_thread = device;
        has_context = true;
        return cudaSuccess;
    });
}

cudaError_t cudaGetDevice(int* device) {
    *device = device_of_thread;
    return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize() {
    return call("cudaDeviceSynchronize", [] { return wait_for(current_device(), [] { runtime().wait(current_device()); }); });
}

cudaError_t cudaDeviceCanAccessPeer(int* possible, int device, int peer) {
    return call("cudaDeviceCanAccessPeer", device, [&] {
        if (!runtime().is_device(device) || !runtime().is_device(peer)) return cudaErrorInvalidDevice;
        *possible = settings().peer_access && device != peer ? 1 : 0;
        return cudaSuccess;
    });
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned) {
    return call("cudaDeviceEnablePeerAccess", [&] { return runtime().give_peer_access(current_device(), peer); });
}

cudaError_t cudaDeviceDisablePeerAccess(int peer) {
    return call("cudaDeviceDisablePeerAccess", [&] { return runtime().take_peer_access(current_device(), peer); });
}

cudaError_t cudaGetLastError() {
    const cudaError_t lasting = runtime().lasting(device_of_thread);
    const cudaError_t last = std::exchange(last_error, cudaSuccess);
    return lasting != cudaSuccess ? lasting : last;
}

cudaError_t cudaRuntimeGetVersion(int* version) {
    *version = runtime_version;
    return cudaSuccess;
}

cudaError_t cudaMalloc(void** address, std::size_t bytes) {
    return call("cudaMalloc", [&] { return runtime().allocate(address, bytes, current_device()); });
}

cudaError_t cudaFree(void* address) {
    return call("cudaFree", [&] { return address == nullptr ? cudaSuccess : runtime().free(address, false); });
}

cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
    return call("cudaMemGetInfo", [&] {
        *total = settings().memory;
        *free = settings().memory - runtime().used(current_device());
        return cudaSuccess;
    });
}

cudaError_t cudaHostAlloc(void** address, std::size_t bytes, unsigned) {
    return call("cudaHostAlloc", [&] { return runtime().allocate(address, bytes, host); });
}

cudaError_t cudaFreeHost(void* address) {
    return call("cudaFreeHost", [&] { return runtime().free(address, true); });
}

cudaError_t cudaHostRegister(void* address, std::size_t bytes, unsigned) {
    return call("cudaHostRegister", [&] { return runtime().add_registered(address, bytes); });
}

cudaError_t cudaHostUnregister(void* address) {
    return call("cudaHostUnregister", [&] { return runtime().remove_registered(address); });
}

cudaError_t cudaHostGetDevicePointer(void** on_device, void* on_host, unsigned) {
    return call("cudaHostGetDevicePointer", [&] {
        if (runtime().allocation(on_host).bytes == 0) return cudaErrorInvalidValue;
        *on_device = on_host;
        return cudaSuccess;
    });
}

cudaError_t cudaMemcpy(void* destination, const void* source, std::size_t bytes, cudaMemcpyKind) {
    return copy("cudaMemcpy", destination, place_of(destination), source, place_of(source), bytes, nullptr, true);
}

cudaError_t cudaMemcpyAsync(void* destination, const void* source, std::size_t bytes, cudaMemcpyKind, cudaStream_t stream) {
    return copy("cudaMemcpyAsync", destination, place_of(destination), source, place_of(source), bytes, stream, false);
}

cudaError_t cudaMemcpyPeerAsync(void* destination, int to, const void* source, int from, std::size_t bytes, cudaStream_t stream) {
    return copy("cudaMemcpyPeerAsync", destination, to, source, from, bytes, stream, false);
}

cudaError_t cudaMemsetAsync(void* destination, int value, std::size_t bytes, cudaStream_t stream) {
    return queue_call("cudaMemsetAsync", stream, [=](double) {
        std::memset(destination, value, bytes);
        return now();
    });
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
    return call("cudaStreamCreateWithFlags", [&] {
        *stream = new CUstream_st{runtime().create_stream(current_device())};
        return cudaSuccess;
    });
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    return call("cudaStreamDestroy", stream->stream->device(), [&] {
        stream->stream->close();
        delete stream;
        return cudaSuccess;
    });
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    const std::shared_ptr<Stream> on = stream_of(stream);
    return call("cudaStreamSynchronize", on->device(), [&] { return wait_for(on->device(), [&] { on->wait(); }); });
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
    return call("cudaEventCreateWithFlags", [&] {
        *event = new CUevent_st;
        return cudaSuccess;
    });
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
    return call("cudaEventDestroy", [&] {
        delete event;
        return cudaSuccess;
    });
}

// A lost GPU's events happen too, without a time: whoever waits for one learns of the loss.
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    const std::shared_ptr<Stream> on = stream_of(stream);
    return call("cudaEventRecord", on->device(), [&] {
        event->state->queued();
        on->queue([state = event->state](double start) {
            state->happened(start);
            return start;
        });
        return cudaSuccess;
    });
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
    return call("cudaEventQuery", [&] { return event->state->is_pending() ? cudaErrorNotReady : cudaSuccess; });
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    return call("cudaEventSynchronize", [&] { return wait_for(current_device(), [&] { event->state->wait(); }); });
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t from, cudaEvent_t to) {
    return call("cudaEventElapsedTime", [&] {
        if (!from->state->is_recorded() || !to->state->is_recorded()) return cudaErrorInvalidResourceHandle;
        if (from->state->is_pending() || to->state->is_pending()) return cudaErrorNotReady;
        *milliseconds = static_cast<float>((to->state->time() - from->state->time()) * 1e3 * (1 + settings().clock_drift));
        return cudaSuccess;
    });
}

const char* cudaGetErrorString(cudaError_t error) {
    switch (error) {
        case cudaSuccess: return "no error";
        case cudaErrorInvalidValue: return "invalid argument";
        case cudaErrorMemoryAllocation: return "out of memory";
        case cudaErrorDevicesUnavailable: return "CUDA-capable device(s) is/are busy or unavailable";
        case cudaErrorNoDevice: return "no CUDA-capable device is detected";
        case cudaErrorInvalidDevice: return "invalid device ordinal";
        case cudaErrorInsufficientDriver: return "CUDA driver version is insufficient for CUDA runtime version";
        case cudaErrorECCUncorrectable: return "uncorrectable ECC error encountered";
        case cudaErrorIllegalAddress: return "an illegal memory access was encountered";
        case cudaErrorLaunchFailure: return "unspecified launch failure";
        case cudaErrorNotReady: return "device not ready";
        case cudaErrorUnknown: return "unknown error";
        default: return "an error that the emulation has no words for";
    }
}
