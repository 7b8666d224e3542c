// That the emulation is what CUDA is, as far as the programs rely on it.
#include <gtest/gtest.h>

#include <cstdlib>
#include <thread>
#include <vector>

#include "gpu/gpu_kernels.h"
#include "tests/emulated_cuda/runtime.h"

namespace {

constexpr std::size_t mebibyte = std::size_t{1} << 20;

// Each test is a process of its own, and says first what is emulated.
void emulate(const char* text) { setenv("EMULATED_CUDA", text, 1); }

cudaStream_t new_stream() {
    cudaStream_t stream = nullptr;
    EXPECT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
    return stream;
}

char* new_memory(std::size_t bytes) {
    void* memory = nullptr;
    EXPECT_EQ(cudaMalloc(&memory, bytes), cudaSuccess);
    return static_cast<char*>(memory);
}

TEST(EmulatedCuda, ACopyTakesItsTimeAndMovesItsBytes) {
    emulate("gpus=1,to_gpu=1e8");
    const cudaStream_t stream = new_stream();
    std::vector<char> host(mebibyte, 'x');
    char* memory = new_memory(mebibyte);
    cudaEvent_t marks[2] = {};
    for (cudaEvent_t& mark : marks) EXPECT_EQ(cudaEventCreateWithFlags(&mark, 0), cudaSuccess);
    EXPECT_EQ(cudaHostRegister(host.data(), host.size(), cudaHostRegisterPortable), cudaSuccess);
    EXPECT_EQ(cudaEventRecord(marks[0], stream), cudaSuccess);
    EXPECT_EQ(cudaMemcpyAsync(memory, host.data(), mebibyte, cudaMemcpyHostToDevice, stream), cudaSuccess);
    EXPECT_EQ(cudaEventRecord(marks[1], stream), cudaSuccess);
    EXPECT_EQ(cudaEventQuery(marks[1]), cudaErrorNotReady) << "page-locked memory is copied while the host goes on";
    EXPECT_EQ(cudaGetLastError(), cudaSuccess) << "what is not ready yet is no error";
    EXPECT_EQ(cudaEventSynchronize(marks[1]), cudaSuccess);
    float milliseconds = 0;
    EXPECT_EQ(cudaEventElapsedTime(&milliseconds, marks[0], marks[1]), cudaSuccess);
    EXPECT_GE(milliseconds, 10.48F);
    EXPECT_EQ(memory[mebibyte - 1], 'x');
}

TEST(EmulatedCuda, AnErrorIsLeftBehindUntilItIsAskedFor) {
    emulate("gpus=1,memory=1048576");
    void* memory = nullptr;
    EXPECT_EQ(cudaMalloc(&memory, 2 * mebibyte), cudaErrorMemoryAllocation);
    EXPECT_EQ(cudaMalloc(&memory, mebibyte), cudaSuccess);
    EXPECT_EQ(cudaGetLastError(), cudaErrorMemoryAllocation);
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

TEST(EmulatedCuda, ALostGpuStaysLostAndLeavesTheOthers) {
    emulate("gpus=2,fault=cudaMemsetAsync:1:lose_later=700");
    char* memory = new_memory(mebibyte);
    EXPECT_EQ(cudaMemsetAsync(memory, 0, mebibyte, nullptr), cudaSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
    EXPECT_EQ(cudaGetLastError(), cudaErrorIllegalAddress);
    EXPECT_EQ(cudaGetLastError(), cudaErrorIllegalAddress);
    EXPECT_EQ(cudaSetDevice(1), cudaErrorIllegalAddress) << "the thread's present GPU is lost";
    EXPECT_EQ(cudaSetDevice(1), cudaSuccess) << "it was chosen all the same";
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    cudaError_t lost = cudaSuccess;
    std::thread([&lost] { lost = cudaSetDevice(0); }).join();
    EXPECT_EQ(lost, cudaErrorIllegalAddress);
}

TEST(EmulatedCuda, WithTheProcessEveryGpuIsLost) {
    emulate("gpus=2,process_is_lost=1,fault=cudaDeviceSynchronize:1:lose");
    EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorLaunchFailure);
    cudaError_t other = cudaSuccess;
    std::thread([&other] { other = cudaSetDevice(1); }).join();
    EXPECT_EQ(other, cudaErrorLaunchFailure);
}

TEST(EmulatedCuda, VisibleDevicesAreInTheOrderThatIsAskedFor) {
    emulate("gpus=3");
    setenv("CUDA_VISIBLE_DEVICES", "2,GPU-00000000-0000-0000-0000-000000000000", 1);
    int count = 0;
    char first[32] = "";
    EXPECT_EQ(cudaGetDeviceCount(&count), cudaSuccess);
    EXPECT_EQ(count, 2);
    EXPECT_EQ(cudaDeviceGetPCIBusId(first, sizeof first, 0), cudaSuccess);
    EXPECT_STREQ(first, "0000:12:00.0");
}

TEST(EmulatedCuda, ALatchHoldsItsStreamUntilItIsOpenedOrItsTimeIsOver) {
    emulate("gpus=1");
    const cudaStream_t stream = new_stream();
    void* raw = nullptr;
    EXPECT_EQ(cudaHostAlloc(&raw, sizeof(nearfar::LatchFlag), cudaHostAllocMapped), cudaSuccess);
    auto* flag = new (raw) nearfar::LatchFlag{};
    nearfar::queue_latch(flag, 0.001, stream);
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    EXPECT_EQ(flag->timed_out, 1);
    EXPECT_EQ(cudaFreeHost(raw), cudaSuccess);
}

}  // namespace
