// CUB's reduction, scan and sort of numbers of 32 bits.
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>

#include "gpu/gpu_call.h"
#include "kernels/gpu_compute/level_one_kernels.h"

namespace nearfar {

void queue_cub(const std::string& kernel, void* scratch, std::size_t& bytes, const std::uint32_t* in, std::uint32_t* out,
               std::size_t n, cudaStream_t stream) {
    const int count = static_cast<int>(n);
    cudaError_t result = cudaSuccess;
    if (kernel == "reduction")
        result = cub::DeviceReduce::Sum(scratch, bytes, in, out, count, stream);
    else if (kernel == "scan")
        result = cub::DeviceScan::ExclusiveSum(scratch, bytes, in, out, count, stream);
    else
        result = cub::DeviceRadixSort::SortPairs(scratch, bytes, in, out, in + n, out + n, count, 0, 32, stream);
    check(result, kernel.c_str());
}

}  // namespace nearfar
