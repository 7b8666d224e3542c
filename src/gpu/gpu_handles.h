// Streams, events and memory of a GPU, and host memory that it addresses, which end with their owner; not where the GPU no longer answers.
#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>

#include "gpu/gpu_call.h"
#include "gpu/gpu_runtime.h"

namespace nearfar {

struct EndOnGpu {
    int ordinal = -1;

    bool is_current() const { return cudaSetDevice(ordinal) == cudaSuccess; }
    void operator()(cudaStream_t stream) const {
        if (is_current()) cudaStreamDestroy(stream);
    }
    void operator()(cudaEvent_t event) const {
        if (is_current()) cudaEventDestroy(event);
    }
    void operator()(void* memory) const {
        if (is_current()) cudaFree(memory);
    }
};

using GpuStream = std::unique_ptr<std::remove_pointer_t<cudaStream_t>, EndOnGpu>;
using GpuEvent = std::unique_ptr<std::remove_pointer_t<cudaEvent_t>, EndOnGpu>;
template <typename T>
using GpuMemory = std::unique_ptr<T, EndOnGpu>;

// Each of the GPU that is current.
inline EndOnGpu end_here() {
    EndOnGpu end;
    check(cudaGetDevice(&end.ordinal), "cudaGetDevice");
    return end;
}

inline GpuStream make_stream() {
    cudaStream_t stream = nullptr;
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
    return GpuStream(stream, end_here());
}

inline GpuEvent make_event(unsigned flags = 0) {
    cudaEvent_t event = nullptr;
    check(cudaEventCreateWithFlags(&event, flags), "cudaEventCreate");
    return GpuEvent(event, end_here());
}

template <typename T>
GpuMemory<T> make_memory(std::size_t bytes, const char* what = "device memory") {
    void* memory = nullptr;
    check(cudaMalloc(&memory, bytes), what);
    return GpuMemory<T>(static_cast<T*>(memory), end_here());
}

struct FreePinned {
    void operator()(void* memory) const { cudaFreeHost(memory); }
};
template <typename T>
using PinnedMemory = std::unique_ptr<T, FreePinned>;

template <typename T>
PinnedMemory<T> make_pinned(std::size_t bytes, const char* what) {
    void* memory = nullptr;
    check(cudaHostAlloc(&memory, bytes, cudaHostAllocMapped), what);
    return PinnedMemory<T>(static_cast<T*>(memory));
}

}  // namespace nearfar
