// cuBLAS, cuFFT and CUB called by themselves, at the sizes of nearfar-kernels: what benchmarks/kernels_beside_libraries.py compares with.
//
//     nvcc -O3 -arch=native -o library_calls benchmarks/library_calls.cu -lcublas -lcufft && ./library_calls [GPU]
//
// Prints a line for each kernel and size: KERNEL SIZE RATE, the rate in the unit of nearfar-kernels, the best of ten samples that take
// about 12 ms each.
#include <cublas_v2.h>
#include <cuda_bf16.h>
#include <cufft.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>
#include <functional>
#include <string>

namespace {

constexpr int samples = 10;
constexpr double sample_seconds = 0.012;

void require(int status, const char* what) {
    if (status == 0) return;
    std::fprintf(stderr, "library_calls: %s: status %d\n", what, status);
    std::exit(1);
}

__device__ double number(std::size_t i) {
    unsigned long long x = (i + 1) * 0x9e3779b97f4a7c15ULL;
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93ULL;
    x ^= x >> 32;
    return static_cast<double>(x >> 11) * 0x1p-53 - 0.5;
}

template <typename T>
__global__ void fill_kernel(T* data, std::size_t n) {
    const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (i < n) data[i] = static_cast<T>(number(i));
}

template <>
__global__ void fill_kernel(unsigned* data, std::size_t n) {
    const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (i < n) data[i] = static_cast<unsigned>((number(i) + 0.5) * 4294967296.0);
}

template <typename T>
T* filled(std::size_t n) {
    T* data = nullptr;
    require(cudaMalloc(&data, n * sizeof(T)), "cudaMalloc");
    fill_kernel<<<static_cast<unsigned>((n + 255) / 256), 256>>>(data, n);
    require(cudaDeviceSynchronize(), "fill");
    return data;
}

double seconds_of(int times, const std::function<void()>& call) {
    cudaEvent_t from;
    cudaEvent_t to;
    cudaEventCreate(&from);
    cudaEventCreate(&to);
    cudaEventRecord(from);
    for (int i = 0; i < times; ++i) call();
    cudaEventRecord(to);
    require(cudaEventSynchronize(to), "a call");
    float milliseconds = 0;
    cudaEventElapsedTime(&milliseconds, from, to);
    cudaEventDestroy(from);
    cudaEventDestroy(to);
    return milliseconds * 1e-3 / times;
}

void measure(const char* kernel, const char* size, double counted, const std::function<void()>& call) {
    seconds_of(2, call);
    const int times = std::max(1, static_cast<int>(std::ceil(sample_seconds / seconds_of(2, call))));
    double best = INFINITY;
    for (int i = 0; i < samples; ++i) best = std::min(best, seconds_of(times, call));
    std::printf("%s %s %.3f\n", kernel, size, counted / best / 1e9);
}

template <typename T, typename Out>
void gemm(const char* kernel, const char* size, int n, const std::function<int(cublasHandle_t, T*, T*, Out*)>& call) {
    cublasHandle_t handle;
    require(cublasCreate(&handle), "cublasCreate");
    const std::size_t elements = static_cast<std::size_t>(n) * n;
    T* const a = filled<T>(elements);
    T* const b = filled<T>(elements);
    Out* c = nullptr;
    require(cudaMalloc(&c, elements * sizeof(Out)), "cudaMalloc");
    measure(kernel, size, 2 * std::pow(n, 3), [&] { require(call(handle, a, b, c), kernel); });
    cudaFree(a);
    cudaFree(b);
    cudaFree(c);
    cublasDestroy(handle);
}

void gemms(const char* size, int single, int full, int half) {
    gemm<float, float>("sgemm", size, single, [=](cublasHandle_t handle, float* a, float* b, float* c) {
        const float one = 1;
        const float nought = 0;
        return cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, single, single, single, &one, a, single, b, single, &nought, c,
                           single);
    });
    gemm<double, double>("dgemm", size, full, [=](cublasHandle_t handle, double* a, double* b, double* c) {
        const double one = 1;
        const double nought = 0;
        return cublasDgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, full, full, full, &one, a, full, b, full, &nought, c, full);
    });
    gemm<__nv_bfloat16, float>("bf16gemm", size, half, [=](cublasHandle_t handle, __nv_bfloat16* a, __nv_bfloat16* b, float* c) {
        const float one = 1;
        const float nought = 0;
        return cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, half, half, half, &one, a, CUDA_R_16BF, half, b, CUDA_R_16BF, half,
                            &nought, c, CUDA_R_32F, half, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
    });
}

void ffts(const char* size, std::size_t bytes) {
    constexpr int points = 512;
    constexpr double flops_of_a_point = 45;  // 5 log2(512)
    for (const bool full : {false, true}) {
        const std::size_t numbers = bytes / (full ? sizeof(double) : sizeof(float));
        const auto transforms = static_cast<int>(numbers / 2 / points);
        void* const in = full ? static_cast<void*>(filled<double>(numbers)) : filled<float>(numbers);
        void* out = nullptr;
        require(cudaMalloc(&out, bytes), "cudaMalloc");
        cufftHandle plan = 0;
        int length = points;
        require(
            cufftPlanMany(&plan, 1, &length, nullptr, 1, points, nullptr, 1, points, full ? CUFFT_Z2Z : CUFFT_C2C, transforms),
            "cufftPlanMany");
        measure(full ? "dfft" : "sfft", size, flops_of_a_point * points * transforms, [&] {
            require(full ? cufftExecZ2Z(plan, static_cast<cufftDoubleComplex*>(in), static_cast<cufftDoubleComplex*>(out),
                                        CUFFT_FORWARD)
                         : cufftExecC2C(plan, static_cast<cufftComplex*>(in), static_cast<cufftComplex*>(out), CUFFT_FORWARD),
                    "cufftExec");
        });
        cufftDestroy(plan);
        cudaFree(in);
        cudaFree(out);
    }
}

// `step` takes scratch memory and how much it is; without it says how much it needs.
void with_scratch(const char* kernel, const char* size, double counted, const std::function<int(void*, std::size_t&)>& step) {
    std::size_t bytes = 0;
    require(step(nullptr, bytes), kernel);
    void* scratch = nullptr;
    require(cudaMalloc(&scratch, bytes), "cudaMalloc");
    measure(kernel, size, counted, [&] { require(step(scratch, bytes), kernel); });
    cudaFree(scratch);
}

void cubs(const char* size, int numbers, int pairs) {
    unsigned* const in = filled<unsigned>(std::max<std::size_t>(numbers, 2 * std::size_t(pairs)));
    unsigned* const out = filled<unsigned>(std::max<std::size_t>(numbers, 2 * std::size_t(pairs)));
    with_scratch("reduction", size, 4.0 * numbers,
                 [&](void* scratch, std::size_t& bytes) { return cub::DeviceReduce::Sum(scratch, bytes, in, out, numbers); });
    with_scratch("scan", size, 4.0 * numbers, [&](void* scratch, std::size_t& bytes) {
        return cub::DeviceScan::ExclusiveSum(scratch, bytes, in, out, numbers);
    });
    with_scratch("sort", size, pairs, [&](void* scratch, std::size_t& bytes) {
        return cub::DeviceRadixSort::SortPairs(scratch, bytes, in, out, in + pairs, out + pairs, pairs);
    });
    cudaFree(in);
    cudaFree(out);
}

}  // namespace

int main(int argc, char** argv) {
    constexpr int mebi = 1 << 20;
    require(cudaSetDevice(argc > 1 ? std::atoi(argv[1]) : 0), "cudaSetDevice");
    gemms("paper", 4096, 2048, 4096);
    gemms("today", 8192, 6144, 8192);
    ffts("paper", std::size_t{256} * mebi);
    ffts("today", std::size_t{512} * mebi);
    cubs("paper", 16 * mebi, 24 * mebi);
    cubs("today", 128 * mebi, 64 * mebi);
}
