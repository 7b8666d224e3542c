#include "gpu/route.h"

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "gpu/gpu_call.h"
#include "gpu/gpu_kernels.h"
#include "memory/pattern.h"

namespace nearfar {
namespace {

constexpr std::size_t word = sizeof(std::uint64_t);
constexpr std::size_t grain = std::size_t{2} << 20;

char* kernel_address(const Buffer& buffer) {
    if (buffer.on_device != nullptr) return static_cast<char*>(buffer.on_device);
    if (!buffer.mapped) return nullptr;
    void* address = nullptr;
    check(cudaHostGetDevicePointer(&address, buffer.on_host, 0), "cudaHostGetDevicePointer");
    return static_cast<char*>(address);
}

char* copy_address(const Buffer& buffer) {
    return static_cast<char*>(buffer.on_device != nullptr ? buffer.on_device : buffer.on_host);
}

char* moved(char* address, std::size_t offset) { return address == nullptr ? nullptr : address + offset; }

}  // namespace

Route::Route(const Flow& flow, const FlowBuffers& keys, const Buffers& buffers, const GpuDevice& gpu, const GpuDevice& checker,
             std::vector<int> cpus, int share, int shares)
    : flow_(flow), gpu_(&gpu), checker_(&checker), cpus_(std::move(cpus)) {
    gpu.require();
    checker.require();
    const Buffer& source = buffers.at(keys.source);
    const Buffer& destination = buffers.at(keys.destination);
    source_ordinal_ = source.gpu_ordinal;
    destination_ordinal_ = destination.gpu_ordinal;
    bytes_ = std::min(source.bytes, destination.bytes) / static_cast<std::size_t>(shares) / grain * grain;
    first_ = static_cast<std::size_t>(share) * bytes_;
    seed_ = source.seed;
    memory_nodes_ = source.gpu_ordinal < 0 ? source.memory_nodes : destination.memory_nodes;
    make_current();
    source_ = moved(copy_address(source), first_);
    destination_ = moved(copy_address(destination), first_);
    sm_source_ = moved(kernel_address(source), first_);
    sm_destination_ = moved(kernel_address(destination), first_);
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
    check(cudaSetDevice(checker_->ordinal), "cudaSetDevice");
    check(cudaStreamCreateWithFlags(&check_stream_, cudaStreamNonBlocking), "cudaStreamCreate");
    check(cudaMalloc(reinterpret_cast<void**>(&wrong_), sizeof *wrong_), "device memory");
}

Route::Route(Route&& other) noexcept
    : flow_(other.flow_), gpu_(other.gpu_), checker_(other.checker_), source_ordinal_(other.source_ordinal_),
      destination_ordinal_(other.destination_ordinal_), cpus_(std::move(other.cpus_)),
      memory_nodes_(std::move(other.memory_nodes_)), first_(other.first_), bytes_(other.bytes_), seed_(other.seed_),
      source_(other.source_), destination_(other.destination_), sm_source_(other.sm_source_),
      sm_destination_(other.sm_destination_), stream_(std::exchange(other.stream_, nullptr)),
      check_stream_(std::exchange(other.check_stream_, nullptr)), wrong_(std::exchange(other.wrong_, nullptr)) {}

Route::~Route() {
    if (stream_ != nullptr && cudaSetDevice(gpu_->ordinal) == cudaSuccess) cudaStreamDestroy(stream_);
    if (check_stream_ == nullptr || cudaSetDevice(checker_->ordinal) != cudaSuccess) return;
    cudaStreamDestroy(check_stream_);
    if (wrong_ != nullptr) cudaFree(wrong_);
}

void Route::make_current() const { check(cudaSetDevice(gpu_->ordinal), "cudaSetDevice"); }

void Route::queue_copy(std::size_t offset, std::size_t bytes) const {
    if (flow_.sm) {
        queue_sm_copy(sm_destination_ + offset, sm_source_ + offset, bytes, 1, stream_);
        return;
    }
    if (flow_.is_peer_flow()) {
        check(cudaMemcpyPeerAsync(destination_ + offset, destination_ordinal_, source_ + offset, source_ordinal_, bytes, stream_),
              "cudaMemcpyPeerAsync");
        return;
    }
    check(cudaMemcpyAsync(destination_ + offset, source_ + offset, bytes, cudaMemcpyDefault, stream_), "cudaMemcpyAsync");
}

void Route::queue_passes(std::size_t bytes, int copies) const {
    if (flow_.sm) {
        queue_sm_copy(sm_destination_, sm_source_, bytes, copies, stream_);
        return;
    }
    for (int i = 0; i < copies; ++i) queue_copy(0, bytes);
}

void Route::poison() const {
    if (sm_destination_ == nullptr) {
        fill_pattern(destination_, poison_seed, 0, bytes_ / word);
        return;
    }
    check(cudaSetDevice(checker_->ordinal), "cudaSetDevice");
    queue_fill(sm_destination_, poison_seed, bytes_ / word, check_stream_);
    check(cudaStreamSynchronize(check_stream_), "poisoning the destination");
}

void Route::verify(std::size_t bytes) const {
    // The pattern's words count from the start of the whole buffer.
    const std::uint64_t seed = seed_ + first_ / word;
    unsigned long long wrong = 0;
    if (sm_destination_ == nullptr) {
        wrong = wrong_words(destination_, seed, bytes / word);
    } else {
        check(cudaSetDevice(checker_->ordinal), "cudaSetDevice");
        check(cudaMemsetAsync(wrong_, 0, sizeof *wrong_, check_stream_), "cudaMemset");
        queue_verify(sm_destination_, seed, bytes / word, wrong_, check_stream_);
        check(cudaMemcpyAsync(&wrong, wrong_, sizeof wrong, cudaMemcpyDeviceToHost, check_stream_), "reading the verification");
        check(cudaStreamSynchronize(check_stream_), "verifying the destination");
    }
    if (wrong != 0)
        throw Failure("wrong_data", std::to_string(wrong) + " of " + std::to_string(bytes / word) + " words moved by " +
                                        flow_.text() + " are wrong in " + flow_.destination.text() + " (" + checker_->on_bus.pci +
                                        ")");
}

}  // namespace nearfar
