// The kernels of kernels/gpu_compute/level_one_kernels.h, done by the CPU.
#include "kernels/gpu_compute/level_one_kernels.h"

#include <numeric>

#include "gpu/gpu_call.h"
#include "kernels/problems/whole_numbers.h"
#include "tests/emulated_cuda/runtime.h"
#include "tests/emulated_cuda/settings.h"

namespace nearfar {
namespace {

// One byte of the results is wrong where `wrong=` says so.
void launch(const char* name, void* results, cudaStream_t stream, const std::function<void()>& work) {
    emulated_cuda::queue_call(name, stream, [=](double) {
        work();
        if (const auto wrong = emulated_cuda::settings().wrong) static_cast<unsigned char*>(results)[*wrong] ^= 0x40;
        return emulated_cuda::now();
    });
    check(cudaGetLastError(), name);
}

}  // namespace

void queue_triad(const float* a, const float* b, float* c, std::size_t n, cudaStream_t stream) {
    launch("triad", c, stream, [=] {
        for (std::size_t i = 0; i < n; ++i) c[i] = triad_of(a[i], b[i]);
    });
}

void queue_nine_points(const float* from, float* to, std::size_t n, cudaStream_t stream) {
    launch("stencil", to, stream, [=] {
        for (std::size_t i = 0; i < n * n; ++i) to[i] = nine_points(from, n, i / n, i % n);
    });
}

void queue_lennard_jones(const MdAtom* atoms, const int* list, MdAtom* forces, std::size_t n, MdBox box, cudaStream_t stream) {
    launch("md", forces, stream, [=] {
        for (std::size_t i = 0; i < n; ++i) {
            const Force<float> force = lennard_jones<float>(atoms, list, n, box, i);
            forces[i] = {force.x, force.y, force.z, 0};
        }
    });
}

std::size_t reduction_scratch(std::size_t) { return 1; }
std::size_t scan_scratch(std::size_t) { return 1; }
std::size_t sort_scratch(std::size_t) { return 1; }

void queue_reduction(void*, std::size_t, const std::uint32_t* in, std::uint32_t* out, std::size_t n, cudaStream_t stream) {
    launch("reduction", out, stream, [=] { *out = std::accumulate(in, in + n, std::uint32_t{0}); });
}

void queue_scan(void*, std::size_t, const std::uint32_t* in, std::uint32_t* out, std::size_t n, cudaStream_t stream) {
    launch("scan", out, stream, [=] { std::exclusive_scan(in, in + n, out, std::uint32_t{0}); });
}

void queue_sort(void*, std::size_t, const std::uint32_t* in, std::uint32_t* out, std::size_t n, cudaStream_t stream) {
    launch("sort", out, stream, [=] { sort_pairs(in, out, n); });
}

}  // namespace nearfar
