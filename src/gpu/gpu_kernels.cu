#include <algorithm>

#include "gpu/device_code.h"
#include "gpu/gpu_call.h"
#include "gpu/gpu_kernels.h"
#include "memory/copy_series.h"

namespace nearfar {
namespace {

constexpr int threads_per_block = 512;

__global__ void latch_kernel(LatchFlag* flag, unsigned long long nanoseconds) {
    const unsigned long long start = nanoseconds_now();
    while (flag->open == 0) {
        if (nanoseconds_now() - start > nanoseconds) {
            flag->timed_out = 1;
            return;
        }
    }
}

__global__ void copy_kernel(char* destination, const char* source, std::size_t bytes, int passes, std::size_t step) {
    const std::size_t stride = static_cast<std::size_t>(gridDim.x) * blockDim.x;
    const std::size_t me = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    const std::size_t units = bytes / sizeof(uint4);
    const auto* const from = reinterpret_cast<const uint4*>(source);
    for (int pass = 0; pass < passes; ++pass) {
        // Each place of the destination is written by the same thread in every pass, and so in their order.
        const std::size_t first = pass * (step / sizeof(uint4));
        uint4* const to = reinterpret_cast<uint4*>(destination) + first;
        std::size_t i = (me + stride - first % stride) % stride;
        // Four loads in flight a thread hide the latency of the bus.
        for (; i + 3 * stride < units; i += 4 * stride) {
            const uint4 a = from[i];
            const uint4 b = from[i + stride];
            const uint4 c = from[i + 2 * stride];
            const uint4 d = from[i + 3 * stride];
            to[i] = a;
            to[i + stride] = b;
            to[i + 2 * stride] = c;
            to[i + 3 * stride] = d;
        }
        for (; i < units; i += stride) to[i] = from[i];
        if (i != units) continue;
        for (std::size_t at = units * sizeof(uint4); at < bytes; ++at) destination[pass * step + at] = source[at];
    }
}

__global__ void fill_kernel(std::uint64_t* data, std::uint64_t seed, std::size_t words) {
    const std::size_t stride = static_cast<std::size_t>(gridDim.x) * blockDim.x;
    for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < words; i += stride)
        data[i] = pattern(seed, i);
}

__global__ void verify_kernel(const std::uint64_t* data, Arrival arrival, unsigned long long* wrong) {
    const std::size_t stride = static_cast<std::size_t>(gridDim.x) * blockDim.x;
    unsigned long long mine = 0;
    for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < arrival.words; i += stride)
        mine += data[i] != expected_word(arrival, i) ? 1 : 0;
    if (mine != 0) atomicAdd(wrong, mine);
}

__global__ void lines_kernel(char* lines, std::uint32_t count) {
    const std::uint32_t stride = gridDim.x * blockDim.x;
    for (std::uint32_t line = blockIdx.x * blockDim.x + threadIdx.x; line < count; line += stride)
        *reinterpret_cast<std::uint32_t*>(lines + static_cast<std::size_t>(line) * chase_line) = (line + 1) % count;
}

__global__ void chase_kernel(const char* lines, std::uint32_t* at, std::uint32_t steps) {
    std::uint32_t line = *at;
    for (std::uint32_t i = 0; i < steps; ++i)
        line = *reinterpret_cast<const volatile std::uint32_t*>(lines + static_cast<std::size_t>(line) * chase_line);
    *at = line;
}

__global__ void nothing_kernel() {}

// One block a multiprocessor: two kernels side by side each get their share.
int blocks() {
    int device = 0;
    int multiprocessors = 0;
    check(cudaGetDevice(&device), "cudaGetDevice");
    check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device), "cudaDeviceGetAttribute");
    return multiprocessors;
}

}  // namespace

void queue_latch(LatchFlag* flag, double seconds, cudaStream_t stream) {
    latch_kernel<<<1, 1, 0, stream>>>(flag, static_cast<unsigned long long>(seconds * 1e9));
    check(cudaGetLastError(), "latch");
}

void queue_sm_copy(void* destination, const void* source, std::size_t bytes, int passes, std::size_t step, cudaStream_t stream) {
    copy_kernel<<<blocks(), threads_per_block, 0, stream>>>(static_cast<char*>(destination), static_cast<const char*>(source),
                                                            bytes, passes, step);
    check(cudaGetLastError(), "SM copy");
}

void queue_fill(void* data, std::uint64_t seed, std::size_t words, cudaStream_t stream) {
    fill_kernel<<<blocks(), threads_per_block, 0, stream>>>(static_cast<std::uint64_t*>(data), seed, words);
    check(cudaGetLastError(), "fill");
}

void queue_verify(const void* data, const Arrival& arrival, unsigned long long* wrong, cudaStream_t stream) {
    const auto* const place = static_cast<const std::uint64_t*>(data) + arrival.to / sizeof(std::uint64_t);
    verify_kernel<<<blocks(), threads_per_block, 0, stream>>>(place, arrival, wrong);
    check(cudaGetLastError(), "verify");
}

void queue_lines(void* lines, std::uint32_t count, cudaStream_t stream) {
    lines_kernel<<<blocks(), threads_per_block, 0, stream>>>(static_cast<char*>(lines), count);
    check(cudaGetLastError(), "lines to chase");
}

void queue_chase(const void* lines, std::uint32_t* at, std::uint32_t steps, cudaStream_t stream) {
    chase_kernel<<<1, 1, 0, stream>>>(static_cast<const char*>(lines), at, steps);
    check(cudaGetLastError(), "chase");
}

void queue_nothing(cudaStream_t stream) {
    nothing_kernel<<<1, 1, 0, stream>>>();
    check(cudaGetLastError(), "an empty kernel");
}

void load_kernels() {
    cudaFuncAttributes attributes{};
    check(cudaFuncGetAttributes(&attributes, latch_kernel), "loading the latch");
    check(cudaFuncGetAttributes(&attributes, copy_kernel), "loading the SM copy");
    check(cudaFuncGetAttributes(&attributes, fill_kernel), "loading the fill");
    check(cudaFuncGetAttributes(&attributes, verify_kernel), "loading the verification");
    check(cudaFuncGetAttributes(&attributes, lines_kernel), "loading the lines to chase");
    check(cudaFuncGetAttributes(&attributes, chase_kernel), "loading the chase");
    check(cudaFuncGetAttributes(&attributes, nothing_kernel), "loading the empty kernel");
}

}  // namespace nearfar
