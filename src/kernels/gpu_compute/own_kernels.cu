// saxpy, triad, the nine-point stencil and Lennard-Jones; what makes and checks matrix products.
#include <algorithm>

#include "gpu/gpu_call.h"
#include "kernels/gpu_compute/level_one_kernels.h"

namespace nearfar {
namespace {

constexpr unsigned threads = 256;
constexpr unsigned columns_each = 128;
constexpr unsigned most_blocks = 4096;
constexpr unsigned tile_width = 64;
constexpr unsigned tile_height = 4;

unsigned blocks_for(std::size_t n, unsigned each) { return static_cast<unsigned>((n + each - 1) / each); }

__global__ void saxpy_kernel(const float* __restrict__ x, float* __restrict__ y, std::size_t n) {
    const std::size_t i = std::size_t{blockIdx.x} * threads + threadIdx.x;
    if (i < n) y[i] = saxpy_of(x[i], y[i]);
}

__global__ void triad_kernel(const float4* __restrict__ a, const float4* __restrict__ b, float4* __restrict__ c, std::size_t n) {
    const std::size_t i = std::size_t{blockIdx.x} * threads + threadIdx.x;
    if (i >= n) return;
    const float4 x = a[i];
    const float4 y = b[i];
    c[i] = {triad_of(x.x, y.x), triad_of(x.y, y.y), triad_of(x.z, y.z), triad_of(x.w, y.w)};
}

__global__ void nine_points_kernel(const float* __restrict__ from, float* __restrict__ to, std::size_t n) {
    const std::size_t column = std::size_t{blockIdx.x} * tile_width + threadIdx.x;
    const std::size_t row = std::size_t{blockIdx.y} * tile_height + threadIdx.y;
    if (row < n && column < n) to[row * n + column] = nine_points(from, n, row, column);
}

template <typename Real>
__global__ void lennard_jones_kernel(const MdAtom<Real>* __restrict__ atoms, const int* __restrict__ list,
                                     MdAtom<Real>* __restrict__ forces, std::size_t n, MdBox box) {
    const std::size_t i = std::size_t{blockIdx.x} * threads + threadIdx.x;
    if (i >= n) return;
    const Force<Real> force = lennard_jones<Real>(atoms, list, n, box, i);
    forces[i] = {force.x, force.y, force.z, 0};
}

template <typename T>
__global__ void operands_kernel(T* __restrict__ to, std::size_t n, Operands operands) {
    const std::size_t i = std::size_t{blockIdx.x} * threads + threadIdx.x;
    if (i < n) set(to[i], operand(operands, i));
}

// A thread has a row of some columns.
template <typename T>
__global__ void times_kernel(const T* __restrict__ matrix, const double* __restrict__ vector, double* __restrict__ product,
                             std::size_t n, Operands operands) {
    const std::size_t row = std::size_t{blockIdx.x} * threads + threadIdx.x;
    const std::size_t first = std::size_t{blockIdx.y} * columns_each;
    if (row >= n) return;
    double sum = 0;
    for (std::size_t column = first; column < first + columns_each && column < n; ++column)
        sum += summand(operands, number(matrix[column * n + row])) * vector[column];
    atomicAdd(product + row, sum);
}

__global__ void differences_kernel(const std::uint32_t* __restrict__ a, const std::uint32_t* __restrict__ b, std::size_t words,
                                   unsigned long long* count) {
    unsigned differing = 0;
    for (std::size_t i = std::size_t{blockIdx.x} * threads + threadIdx.x; i < words; i += std::size_t{gridDim.x} * threads)
        differing += a[i] != b[i] ? 1 : 0;
    if (differing > 0) atomicAdd(count, differing);
}

template <typename T>
__global__ void count_right_kernel(const T* __restrict__ sum, const T* __restrict__ product, std::size_t n, double times,
                                   unsigned long long* right) {
    unsigned long long mine = 0;
    for (std::size_t i = std::size_t{blockIdx.x} * threads + threadIdx.x; i < n; i += std::size_t{gridDim.x} * threads)
        mine += static_cast<double>(sum[i]) == times * static_cast<double>(product[i]) ? 1 : 0;
    for (int lanes = warpSize / 2; lanes > 0; lanes /= 2) mine += __shfl_down_sync(~0U, mine, lanes);
    if (threadIdx.x % warpSize == 0) atomicAdd(right, mine);
}

}  // namespace

template <typename T>
void queue_operands(T* to, std::size_t n, Operands operands, cudaStream_t stream) {
    operands_kernel<<<blocks_for(n, threads), threads, 0, stream>>>(to, n, operands);
    check(cudaGetLastError(), "operands");
}
template void queue_operands(float*, std::size_t, Operands, cudaStream_t);
template void queue_operands(double*, std::size_t, Operands, cudaStream_t);
template void queue_operands(Bf16*, std::size_t, Operands, cudaStream_t);

template <typename T>
void queue_times(const T* matrix, const double* vector, double* product, std::size_t n, Operands operands, cudaStream_t stream) {
    const dim3 grid(blocks_for(n, threads), blocks_for(n, columns_each));
    times_kernel<<<grid, threads, 0, stream>>>(matrix, vector, product, n, operands);
    check(cudaGetLastError(), "times");
}
template void queue_times(const float*, const double*, double*, std::size_t, Operands, cudaStream_t);
template void queue_times(const double*, const double*, double*, std::size_t, Operands, cudaStream_t);
template void queue_times(const Bf16*, const double*, double*, std::size_t, Operands, cudaStream_t);

void queue_differences(const std::uint32_t* a, const std::uint32_t* b, std::size_t words, unsigned long long* count,
                       cudaStream_t stream) {
    differences_kernel<<<std::min(blocks_for(words, threads), most_blocks), threads, 0, stream>>>(a, b, words, count);
    check(cudaGetLastError(), "differences");
}

void queue_count_right(const void* sum, const void* product, std::size_t n, bool are_doubles, double times,
                       unsigned long long* right, cudaStream_t stream) {
    const unsigned blocks = std::min(blocks_for(n, threads), most_blocks);
    if (are_doubles)
        count_right_kernel<<<blocks, threads, 0, stream>>>(static_cast<const double*>(sum), static_cast<const double*>(product),
                                                           n, times, right);
    else
        count_right_kernel<<<blocks, threads, 0, stream>>>(static_cast<const float*>(sum), static_cast<const float*>(product), n,
                                                           times, right);
    check(cudaGetLastError(), "count_right");
}

void queue_saxpy(const float* x, float* y, std::size_t n, cudaStream_t stream) {
    saxpy_kernel<<<blocks_for(n, threads), threads, 0, stream>>>(x, y, n);
    check(cudaGetLastError(), "saxpy");
}

void queue_triad(const float* a, const float* b, float* c, std::size_t n, cudaStream_t stream) {
    const std::size_t fours = n / 4;
    triad_kernel<<<blocks_for(fours, threads), threads, 0, stream>>>(
        reinterpret_cast<const float4*>(a), reinterpret_cast<const float4*>(b), reinterpret_cast<float4*>(c), fours);
    check(cudaGetLastError(), "triad");
}

void queue_nine_points(const float* from, float* to, std::size_t n, cudaStream_t stream) {
    const dim3 grid(blocks_for(n, tile_width), blocks_for(n, tile_height));
    nine_points_kernel<<<grid, dim3(tile_width, tile_height), 0, stream>>>(from, to, n);
    check(cudaGetLastError(), "stencil");
}

template <typename Real>
void queue_lennard_jones(const MdAtom<Real>* atoms, const int* list, MdAtom<Real>* forces, std::size_t n, MdBox box,
                         cudaStream_t stream) {
    lennard_jones_kernel<<<blocks_for(n, threads), threads, 0, stream>>>(atoms, list, forces, n, box);
    check(cudaGetLastError(), "md");
}

template void queue_lennard_jones(const MdAtom<float>*, const int*, MdAtom<float>*, std::size_t, MdBox, cudaStream_t);
template void queue_lennard_jones(const MdAtom<double>*, const int*, MdAtom<double>*, std::size_t, MdBox, cudaStream_t);

}  // namespace nearfar
