// The kernels of kernels/gpu_compute/level_one_kernels.h, done by the CPU.
#include "kernels/gpu_compute/level_one_kernels.h"

#include <numeric>

#include "gpu/gpu_call.h"
#include "kernels/problems/whole_numbers.h"
#include "tests/emulated_cuda/runtime.h"
#include "tests/emulated_cuda/settings.h"

namespace nearfar {
namespace {

// One byte of the results is wrong where `wrong=` says so; null: of nothing that is measured.
void launch(const char* name, void* results, cudaStream_t stream, const std::function<void()>& work) {
    emulated_cuda::queue_call(name, stream, [=](double) {
        work();
        const auto wrong = emulated_cuda::settings().wrong;
        if (wrong && results != nullptr) static_cast<unsigned char*>(results)[*wrong] ^= 0x40;
        return emulated_cuda::now();
    });
    check(cudaGetLastError(), name);
}

}  // namespace

template <typename T>
void queue_operands(T* to, std::size_t n, Operands operands, cudaStream_t stream) {
    launch("operands", nullptr, stream, [=] {
        for (std::size_t i = 0; i < n; ++i) set(to[i], operand(operands, i));
    });
}
template void queue_operands(float*, std::size_t, Operands, cudaStream_t);
template void queue_operands(double*, std::size_t, Operands, cudaStream_t);
template void queue_operands(Bf16*, std::size_t, Operands, cudaStream_t);

template <typename T>
void queue_times(const T* matrix, const double* vector, double* product, std::size_t n, Operands operands, cudaStream_t stream) {
    launch("times", nullptr, stream, [=] {
        for (std::size_t i = 0; i < n * n; ++i) product[i % n] += summand(operands, number(matrix[i])) * vector[i / n];
    });
}
template void queue_times(const float*, const double*, double*, std::size_t, Operands, cudaStream_t);
template void queue_times(const double*, const double*, double*, std::size_t, Operands, cudaStream_t);
template void queue_times(const Bf16*, const double*, double*, std::size_t, Operands, cudaStream_t);

void queue_differences(const std::uint32_t* a, const std::uint32_t* b, std::size_t words, unsigned long long* count,
                       cudaStream_t stream) {
    launch("differences", nullptr, stream, [=] {
        for (std::size_t i = 0; i < words; ++i) *count += a[i] != b[i] ? 1 : 0;
    });
}

void queue_count_right(const void* sum, const void* product, std::size_t n, bool are_doubles, double times,
                       unsigned long long* right, cudaStream_t stream) {
    const auto element = [=](const void* of, std::size_t i) {
        return are_doubles ? static_cast<const double*>(of)[i] : static_cast<const float*>(of)[i];
    };
    launch("count_right", nullptr, stream, [=] {
        for (std::size_t i = 0; i < n; ++i) *right += element(sum, i) == times * element(product, i) ? 1 : 0;
    });
}

void queue_saxpy(const float* x, float* y, std::size_t n, cudaStream_t stream) {
    launch("saxpy", y, stream, [=] {
        for (std::size_t i = 0; i < n; ++i) y[i] = saxpy_of(x[i], y[i]);
    });
}

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

template <typename Real>
void queue_lennard_jones(const MdAtom<Real>* atoms, const int* list, MdAtom<Real>* forces, std::size_t n, MdBox box,
                         cudaStream_t stream) {
    launch("md", forces, stream, [=] {
        for (std::size_t i = 0; i < n; ++i) {
            const Force<Real> force = lennard_jones<Real>(atoms, list, n, box, i);
            forces[i] = {force.x, force.y, force.z, 0};
        }
    });
}

template void queue_lennard_jones(const MdAtom<float>*, const int*, MdAtom<float>*, std::size_t, MdBox, cudaStream_t);
template void queue_lennard_jones(const MdAtom<double>*, const int*, MdAtom<double>*, std::size_t, MdBox, cudaStream_t);

void queue_cub(const std::string& kernel, void* scratch, std::size_t& bytes, const std::uint32_t* in, std::uint32_t* out,
               std::size_t n, cudaStream_t stream) {
    bytes = 1;
    if (scratch == nullptr) return;
    launch(kernel.c_str(), out, stream, [=] {
        if (kernel == "reduction")
            *out = std::accumulate(in, in + n, std::uint32_t{0});
        else if (kernel == "scan")
            std::exclusive_scan(in, in + n, out, std::uint32_t{0});
        else
            sort_pairs(in, out, n);
    });
}

}  // namespace nearfar
