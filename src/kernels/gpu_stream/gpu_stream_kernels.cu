#include "gpu/device_code.h"
#include "gpu/gpu_call.h"
#include "kernels/gpu_stream/gpu_stream_kernels.h"
#include "kernels/stream/stream_values.h"

namespace nearfar {
namespace {

constexpr int threads_per_block = 256;
// Independent loads of 16 bytes that each thread has in flight from each array: with some thousand threads a multiprocessor more than
// the memory's latency times its rate.
constexpr int in_flight = 4;
constexpr std::size_t tile = static_cast<std::size_t>(threads_per_block) * in_flight;  // in units of 16 bytes
static_assert(tile * sizeof(double2) == gpu_stream_grain);

// Where reads and writes mix, many small blocks with one load of each array a thread keep the memory busiest: on an H200 triad has
// 4,412 GB/s so, 4,350 with four loads a thread and 256 threads, 4,150 with blocks that stay; copy 4,286, 4,080 (benchmarks/studies/gpu-memory.md).
constexpr int mixed_threads = 128;

template <Kernel kernel>
__global__ void __launch_bounds__(mixed_threads) stream_kernel(double2* c, const double2* a, const double2* b) {
    constexpr bool two = kernel == Kernel::add || kernel == Kernel::triad;
    const std::size_t at = static_cast<std::size_t>(blockIdx.x) * mixed_threads + threadIdx.x;
    const double2 x = load_once(a + at);
    double2 answer = x;
    if (kernel == Kernel::scale) answer = {gpu_stream_scalar * x.x, gpu_stream_scalar * x.y};
    if (two) {
        const double2 y = load_once(b + at);
        const double times = kernel == Kernel::triad ? gpu_stream_scalar : 1.0;
        answer = {x.x + times * y.x, x.y + times * y.y};
    }
    store_once(c + at, answer);
}

__global__ void __launch_bounds__(threads_per_block) write_kernel(uint4* c, std::size_t first_word) {
    const std::size_t first = static_cast<std::size_t>(blockIdx.x) * tile + threadIdx.x;
#pragma unroll
    for (int i = 0; i < in_flight; ++i) {
        const std::size_t at = first + i * threads_per_block;
        const std::uint64_t low = written_word(first_word + 2 * at);
        const std::uint64_t high = written_word(first_word + 2 * at + 1);
        store_once(c + at, make_uint4(static_cast<unsigned>(low), static_cast<unsigned>(low >> 32), static_cast<unsigned>(high),
                                      static_cast<unsigned>(high >> 32)));
    }
}

// As many blocks as run at once, each with tile after tile: one sum a block.
template <bool is_dot>
__global__ void __launch_bounds__(threads_per_block)
    reduce_kernel(double* sum, const double2* a, const double2* b, std::size_t tiles) {
    double mine = 0;
    for (std::size_t one = blockIdx.x; one < tiles; one += gridDim.x) {
        const std::size_t first = one * tile + threadIdx.x;
        double2 x[in_flight];
        double2 y[in_flight];
#pragma unroll
        for (int i = 0; i < in_flight; ++i) {
            x[i] = load_once(a + first + i * threads_per_block);
            if (is_dot) y[i] = load_once(b + first + i * threads_per_block);
        }
#pragma unroll
        for (int i = 0; i < in_flight; ++i) mine += is_dot ? x[i].x * y[i].x + x[i].y * y[i].y : x[i].x + x[i].y;
    }
    for (int offset = warp / 2; offset > 0; offset /= 2) mine += shuffle_down(mine, offset);
    __shared__ double of_warp[threads_per_block / warp];
    if (threadIdx.x % warp == 0) of_warp[threadIdx.x / warp] = mine;
    __syncthreads();
    if (threadIdx.x != 0) return;
    double all = 0;
    for (const double one : of_warp) all += one;
    atomicAdd(sum, all);
}

__global__ void values_kernel(double* a, double* b, std::size_t words) {
    const std::size_t stride = static_cast<std::size_t>(gridDim.x) * blockDim.x;
    for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < words; i += stride) {
        a[i] = value_of_a(i);
        b[i] = value_of_b(i);
    }
}

__global__ void stream_verify_kernel(Kernel kernel, const std::uint64_t* data, Arrival arrival, unsigned long long* wrong) {
    const std::size_t stride = static_cast<std::size_t>(gridDim.x) * blockDim.x;
    unsigned long long mine = 0;
    for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < arrival.words; i += stride)
        mine += data[i] != expected_stream_word(kernel, arrival, i) ? 1 : 0;
    if (mine != 0) atomicAdd(wrong, mine);
}

// So many blocks keep a device busy.
unsigned busy_blocks() {
    constexpr int blocks_each = 8;
    int device = 0;
    int multiprocessors = 0;
    check(cudaGetDevice(&device), "cudaGetDevice");
    check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device), "cudaDeviceGetAttribute");
    return static_cast<unsigned>(multiprocessors * blocks_each);
}

template <Kernel kernel>
void launch(const GpuStreamPass& pass, cudaStream_t stream) {
    constexpr std::size_t of_a_block = mixed_threads * sizeof(double2);
    stream_kernel<kernel><<<static_cast<unsigned>(pass.bytes / of_a_block), mixed_threads, 0, stream>>>(
        reinterpret_cast<double2*>(pass.c), reinterpret_cast<const double2*>(pass.a), reinterpret_cast<const double2*>(pass.b));
}

template <bool is_dot>
void launch_reduction(const GpuStreamPass& pass, cudaStream_t stream) {
    reduce_kernel<is_dot><<<busy_blocks(), threads_per_block, 0, stream>>>(pass.sum, reinterpret_cast<const double2*>(pass.a),
                                                                           reinterpret_cast<const double2*>(pass.b),
                                                                           pass.bytes / gpu_stream_grain);
}

}  // namespace

void queue_stream_values(double* a, double* b, std::size_t words, cudaStream_t stream) {
    values_kernel<<<busy_blocks(), threads_per_block, 0, stream>>>(a, b, words);
    check(cudaGetLastError(), "STREAM's values");
}

void queue_stream_pass(Kernel kernel, const GpuStreamPass& pass, cudaStream_t stream) {
    switch (kernel) {
        case Kernel::copy: launch<Kernel::copy>(pass, stream); break;
        case Kernel::scale: launch<Kernel::scale>(pass, stream); break;
        case Kernel::add: launch<Kernel::add>(pass, stream); break;
        case Kernel::triad: launch<Kernel::triad>(pass, stream); break;
        case Kernel::dot: launch_reduction<true>(pass, stream); break;
        case Kernel::read: launch_reduction<false>(pass, stream); break;
        case Kernel::write:
            write_kernel<<<static_cast<unsigned>(pass.bytes / gpu_stream_grain), threads_per_block, 0, stream>>>(
                reinterpret_cast<uint4*>(pass.c), pass.first_word);
            break;
        case Kernel::fill:
            check(cudaMemsetAsync(pass.c, static_cast<int>(pass.fill), pass.bytes, stream), "cudaMemsetAsync");
            break;
        case Kernel::none: break;
    }
    check(cudaGetLastError(), "a STREAM kernel");
}

void queue_stream_verify(Kernel kernel, const void* data, const Arrival& arrival, unsigned long long* wrong,
                         cudaStream_t stream) {
    const auto* const place = static_cast<const std::uint64_t*>(data) + arrival.to / sizeof(std::uint64_t);
    stream_verify_kernel<<<busy_blocks(), threads_per_block, 0, stream>>>(kernel, place, arrival, wrong);
    check(cudaGetLastError(), "STREAM's verification");
}

void load_stream_kernels() {
    cudaFuncAttributes attributes{};
    check(cudaFuncGetAttributes(&attributes, stream_kernel<Kernel::copy>), "loading STREAM");
    check(cudaFuncGetAttributes(&attributes, stream_kernel<Kernel::scale>), "loading STREAM");
    check(cudaFuncGetAttributes(&attributes, stream_kernel<Kernel::add>), "loading STREAM");
    check(cudaFuncGetAttributes(&attributes, stream_kernel<Kernel::triad>), "loading STREAM");
    check(cudaFuncGetAttributes(&attributes, reduce_kernel<true>), "loading STREAM");
    check(cudaFuncGetAttributes(&attributes, reduce_kernel<false>), "loading STREAM");
    check(cudaFuncGetAttributes(&attributes, write_kernel), "loading STREAM");
    check(cudaFuncGetAttributes(&attributes, values_kernel), "loading STREAM");
    check(cudaFuncGetAttributes(&attributes, stream_verify_kernel), "loading STREAM");
}

}  // namespace nearfar
