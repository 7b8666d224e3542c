#include "copy/chase.h"

#include <algorithm>

#include "copy/latency.h"
#include "gpu/gpu_call.h"
#include "gpu/gpu_kernels.h"

namespace nearfar {
namespace {

constexpr std::uint32_t short_run = 300;
constexpr std::uint32_t long_run = 2300;

constexpr std::size_t host_cache_line = 64;

// Each line names the next.
void write_lines(char* data, std::size_t lines) {
    for (std::size_t line = 0; line < lines; ++line)
        *reinterpret_cast<std::uint32_t*>(data + line * chase_line) = static_cast<std::uint32_t>((line + 1) % lines);
}

// As many lines as do not stay in the caches of the package whose memory it is.
std::size_t host_lines(const Node& node) {
    const std::size_t cache = node.last_level_cache / std::max<std::size_t>(1, node.packages.size());
    return std::max(chase_lines, chase_host_caches * cache / host_cache_line);
}

// The end of a route that its driving GPU loads from.
Endpoint far_end(const Flow& flow) {
    if (flow.is_host_flow()) return {Place::numa_memory, flow.numa_node()};
    return flow.driving_gpu() == flow.source.index ? flow.destination : flow.source;
}

}  // namespace

ChaseMemory::ChaseMemory(const Endpoint& place, const Node& node, const std::vector<GpuDevice>& gpus, const GpuDevice& driver) {
    if (place.place == Place::gpu_memory)
        put_on_gpu(gpus[static_cast<std::size_t>(place.index)]);
    else
        put_on_host(place.index, node, driver);
}

void ChaseMemory::put_on_host(int numa_node, const Node& node, const GpuDevice& driver) {
    const std::size_t lines = host_lines(node);
    host_ = std::make_unique<HostBuffer>(node, numa_node, lines * chase_line, HostPages::ordinary, 1);
    write_lines(static_cast<char*>(host_->data()), lines);
    locked_ = lock_pages(host_->data(), host_->bytes(), driver);
    host_->require_placement();
    check(cudaHostGetDevicePointer(&address_, host_->data(), 0), "cudaHostGetDevicePointer");
}

void ChaseMemory::put_on_gpu(const GpuDevice& gpu) {
    check(cudaSetDevice(gpu.ordinal), "cudaSetDevice");
    device_ = make_memory<void>(chase_lines * chase_line);
    address_ = device_.get();
    queue_lines(address_, static_cast<std::uint32_t>(chase_lines), nullptr);
    check(cudaStreamSynchronize(nullptr), "lines to chase");
}

ChaseMemory& ChaseBench::memory(const Endpoint& place, const GpuDevice& driver) {
    std::unique_ptr<ChaseMemory>& known = memories_[place.text()];
    if (!known) known = std::make_unique<ChaseMemory>(place, node_, gpus_, driver);
    return *known;
}

Summary ChaseBench::latency(const Route& route, const Policy& policy, double seconds) {
    ChaseMemory& far = memory(far_end(route.flow()), route.gpu());
    route.make_current();
    const GpuMemory<std::uint32_t> at = make_memory<std::uint32_t>(sizeof(std::uint32_t));  // where the last run stopped
    check(cudaMemcpy(at.get(), &far.next_line, sizeof far.next_line, cudaMemcpyHostToDevice), "cudaMemcpy");
    const GpuEvent begin = make_event();
    const GpuEvent end = make_event();
    const auto run = [&](std::uint32_t steps) {
        check(cudaEventRecord(begin.get(), route.stream()), "cudaEventRecord");
        queue_chase(far.address(), at.get(), steps, route.stream());
        check(cudaEventRecord(end.get(), route.stream()), "cudaEventRecord");
        check(cudaEventSynchronize(end.get()), "chasing");
        return seconds_between(begin.get(), end.get()) * 1e6;
    };
    const Summary summary =
        take_samples(policy, seconds, [&] { return (run(long_run) - run(short_run)) / (long_run - short_run); });
    check(cudaMemcpy(&far.next_line, at.get(), sizeof far.next_line, cudaMemcpyDeviceToHost), "cudaMemcpy");
    return summary;
}

}  // namespace nearfar
