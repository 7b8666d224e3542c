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

char* copy_address(const Buffer& buffer) {
    return static_cast<char*>(buffer.on_device != nullptr ? buffer.on_device : buffer.on_host);
}

char* moved(char* address, std::size_t offset) { return address == nullptr ? nullptr : address + offset; }

}  // namespace

Route::Route(const Flow& flow, const FlowBuffers& keys, const Buffers& buffers, const GpuDevice& gpu, const GpuDevice& checker,
             std::vector<int> cpus, int share, int shares)
    : CheckedSeries(flow, gpu, checker), cpus_(std::move(cpus)) {
    const Buffer& source = buffers.at(keys.source);
    const Buffer& destination = buffers.at(keys.destination);
    source_ordinal_ = source.gpu_ordinal;
    destination_ordinal_ = destination.gpu_ordinal;
    bytes_ = std::min(source.bytes, destination.bytes) / static_cast<std::size_t>(shares) / grain * grain;
    if (bytes_ == 0)
        throw Prevented("no_memory", "buffers of " + std::to_string(std::min(source.bytes, destination.bytes) >> 20) +
                                         " MiB, which is what memory allows, are too small for " + std::to_string(shares) +
                                         " threads: use fewer, or free memory");
    room_ = bytes_ + spare_bytes / static_cast<std::size_t>(shares) / step_bytes * step_bytes;
    const std::size_t read_from = static_cast<std::size_t>(share) * bytes_;
    const std::size_t written_from = static_cast<std::size_t>(share) * room_;
    seed_ = source.seed + read_from / word;
    memory_nodes_ = source.gpu_ordinal < 0 ? source.memory_nodes : destination.memory_nodes;
    make_current();
    source_ = moved(copy_address(source), read_from);
    destination_ = moved(copy_address(destination), written_from);
    sm_source_ = moved(kernel_address(source), read_from);
    sm_destination_ = moved(kernel_address(destination), written_from);
}

void Route::queue(const CopyPlace& place, std::size_t bytes, int passes) const {
    if (flow_.sm) {
        queue_sm_copy(sm_destination_ + place.to, sm_source_ + place.from, bytes, passes, step_bytes, stream());
        return;
    }
    char* const to = destination_ + place.to;
    const char* const from = source_ + place.from;
    if (flow_.is_peer_flow())
        check(cudaMemcpyPeerAsync(to, destination_ordinal_, from, source_ordinal_, bytes, stream()), "cudaMemcpyPeerAsync");
    else
        check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream()), "cudaMemcpyAsync");
}

void Route::queue_copy(std::size_t bytes) const { queue({0, 0}, bytes, 1); }

void Route::queue_copies(int copies, bool one_kernel) {
    const int passes = flow_.sm && one_kernel ? copies : 1;
    for (int i = 0; i < copies; i += passes) {
        const CopyPlace first = series_.next();
        for (int pass = 1; pass < passes; ++pass) series_.next();
        queue(first, series_.bytes(), passes);
    }
}

void Route::begin_series(std::size_t bytes, std::size_t places) {
    const CopySeries series(bytes, places, room_, seed_);
    CheckedSeries::begin_series(series, [this](std::size_t words, cudaStream_t stream) {
        if (sm_destination_ == nullptr)
            fill_pattern(destination_, poison_seed, 0, words);
        else
            queue_fill(sm_destination_, poison_seed, words, stream);
    });
}

void Route::compare(const std::vector<Arrival>& arrivals) const {
    unsigned long long wrong = 0;
    std::size_t words = 0;
    for (const Arrival& one : arrivals) words += one.words;
    if (sm_destination_ == nullptr)
        for (const Arrival& one : arrivals) wrong += wrong_words(destination_, one);
    else
        wrong = counted([&](unsigned long long* count, cudaStream_t stream) {
            for (const Arrival& one : arrivals) queue_verify(sm_destination_, one, count, stream);
        });
    if (wrong != 0)
        throw Failure("wrong_data", std::to_string(wrong) + " of " + std::to_string(words) + " words are wrong in " +
                                        flow_.destination.text() + " (" + checker_->on_bus.pci + ") after " +
                                        std::to_string(series_.copies()) + " copies by " + flow_.text());
}

}  // namespace nearfar
