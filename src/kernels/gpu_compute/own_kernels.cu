// triad, the nine-point stencil and Lennard-Jones.
#include "gpu/gpu_call.h"
#include "kernels/gpu_compute/level_one_kernels.h"

namespace nearfar {
namespace {

constexpr unsigned threads = 256;
constexpr unsigned tile_width = 64;
constexpr unsigned tile_height = 4;

unsigned blocks_for(std::size_t n, unsigned each) { return static_cast<unsigned>((n + each - 1) / each); }

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

__global__ void lennard_jones_kernel(const MdAtom* __restrict__ atoms, const int* __restrict__ list, MdAtom* __restrict__ forces,
                                     std::size_t n, MdBox box) {
    const std::size_t i = std::size_t{blockIdx.x} * threads + threadIdx.x;
    if (i >= n) return;
    const Force<float> force = lennard_jones<float>(atoms, list, n, box, i);
    forces[i] = {force.x, force.y, force.z, 0};
}

}  // namespace

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

void queue_lennard_jones(const MdAtom* atoms, const int* list, MdAtom* forces, std::size_t n, MdBox box, cudaStream_t stream) {
    lennard_jones_kernel<<<blocks_for(n, threads), threads, 0, stream>>>(atoms, list, forces, n, box);
    check(cudaGetLastError(), "md");
}

}  // namespace nearfar
