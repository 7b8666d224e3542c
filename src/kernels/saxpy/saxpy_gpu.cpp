#include "kernels/saxpy/saxpy_gpu.h"

#include "gpu/event_time.h"
#include "gpu/gpu_call.h"
#include "gpu/host_registration.h"
#include "kernels/saxpy/saxpy_kernel.h"

namespace nearfar {

GpuSaxpy::GpuSaxpy(const GpuDevice& gpu, std::size_t bytes) : gpu_(gpu) {
    check(cudaSetDevice(gpu.ordinal), "cudaSetDevice");
    check(cudaMalloc(reinterpret_cast<void**>(&x_), bytes), "device memory");
    check(cudaMalloc(reinterpret_cast<void**>(&y_), bytes), "device memory");
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
    for (cudaEvent_t& mark : marks_) check(cudaEventCreate(&mark), "cudaEventCreate");
}

GpuSaxpy::~GpuSaxpy() {
    if (cudaSetDevice(gpu_.ordinal) != cudaSuccess) return;
    for (const cudaEvent_t mark : marks_)
        if (mark != nullptr) cudaEventDestroy(mark);
    if (stream_ != nullptr) cudaStreamDestroy(stream_);
    cudaFree(y_);
    cudaFree(x_);
}

std::shared_ptr<void> GpuSaxpy::prepare(const SaxpyVectors& vectors) {
    register_host(vectors.data(), vectors.all_bytes(), gpu_);
    return {vectors.data(), [](void* memory) { cudaHostUnregister(memory); }};
}

SaxpyStep GpuSaxpy::iterate(const SaxpyVectors& vectors) {
    check(cudaEventRecord(marks_[0], stream_), "cudaEventRecord");
    check(cudaMemcpyAsync(x_, vectors.x(), vectors.bytes(), cudaMemcpyHostToDevice, stream_), "x to the GPU");
    check(cudaMemcpyAsync(y_, vectors.y(), vectors.bytes(), cudaMemcpyHostToDevice, stream_), "y to the GPU");
    check(cudaEventRecord(marks_[1], stream_), "cudaEventRecord");
    queue_saxpy(y_, x_, saxpy_a, vectors.length(), stream_);
    check(cudaEventRecord(marks_[2], stream_), "cudaEventRecord");
    check(cudaMemcpyAsync(vectors.y(), y_, vectors.bytes(), cudaMemcpyDeviceToHost, stream_), "y to the host");
    check(cudaEventRecord(marks_[3], stream_), "cudaEventRecord");
    check(cudaStreamSynchronize(stream_), "saxpy");
    return {seconds_between(marks_[0], marks_[1]), seconds_between(marks_[1], marks_[2]), seconds_between(marks_[2], marks_[3])};
}

}  // namespace nearfar
