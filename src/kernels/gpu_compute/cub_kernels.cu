// CUB's reduction, scan and sort of numbers of 32 bits.
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>

#include "gpu/gpu_call.h"
#include "kernels/gpu_compute/level_one_kernels.h"

namespace nearfar {
namespace {

using Number = std::uint32_t;

void reduce(void* scratch, std::size_t& bytes, const Number* in, Number* out, std::size_t n, cudaStream_t stream) {
    check(cub::DeviceReduce::Sum(scratch, bytes, in, out, static_cast<int>(n), stream), "reduction");
}

void scan(void* scratch, std::size_t& bytes, const Number* in, Number* out, std::size_t n, cudaStream_t stream) {
    check(cub::DeviceScan::ExclusiveSum(scratch, bytes, in, out, static_cast<int>(n), stream), "scan");
}

void sort(void* scratch, std::size_t& bytes, const Number* in, Number* out, std::size_t n, cudaStream_t stream) {
    check(cub::DeviceRadixSort::SortPairs(scratch, bytes, in, out, in + n, out + n, static_cast<int>(n), 0, 32, stream), "sort");
}

using Step = void (*)(void*, std::size_t&, const Number*, Number*, std::size_t, cudaStream_t);

// Without scratch memory it says how much it needs.
std::size_t scratch_of(Step step, std::size_t n) {
    std::size_t bytes = 0;
    step(nullptr, bytes, nullptr, nullptr, n, nullptr);
    return bytes;
}

}  // namespace

std::size_t reduction_scratch(std::size_t n) { return scratch_of(reduce, n); }
std::size_t scan_scratch(std::size_t n) { return scratch_of(scan, n); }
std::size_t sort_scratch(std::size_t n) { return scratch_of(sort, n); }

void queue_reduction(void* scratch, std::size_t bytes, const Number* in, Number* out, std::size_t n, cudaStream_t stream) {
    reduce(scratch, bytes, in, out, n, stream);
}

void queue_scan(void* scratch, std::size_t bytes, const Number* in, Number* out, std::size_t n, cudaStream_t stream) {
    scan(scratch, bytes, in, out, n, stream);
}

void queue_sort(void* scratch, std::size_t bytes, const Number* in, Number* out, std::size_t n, cudaStream_t stream) {
    sort(scratch, bytes, in, out, n, stream);
}

}  // namespace nearfar
