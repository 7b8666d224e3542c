#include "copy/chase.h"

#include <algorithm>
#include <utility>

#include "copy/measure_cell.h"
#include "gpu/gpu_call.h"
#include "gpu/gpu_kernels.h"
#include "node/team.h"

namespace nearfar {
namespace {

constexpr std::uint32_t short_run = 300;
constexpr std::uint32_t long_run = 2300;

constexpr std::size_t host_cache_line = 64;

// Each line names the next.
void write_lines(char* data, std::size_t lines, const Team& team) {
    team.each(lines, [=](std::size_t begin, std::size_t end) {
        for (std::size_t line = begin; line < end; ++line)
            *reinterpret_cast<std::uint32_t*>(data + line * chase_line) = static_cast<std::uint32_t>((line + 1) % lines);
    });
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

ChaseMemory& ChaseBench::memory(const Endpoint& place, const GpuDevice& driver) {
    const auto known = memories_.find(place.text());
    if (known != memories_.end()) return known->second;
    ChaseMemory made;
    if (place.place == Place::gpu_memory) {
        check(cudaSetDevice(gpus_[static_cast<std::size_t>(place.index)].ordinal), "cudaSetDevice");
        made.device = make_memory<void>(chase_lines * chase_line);
        made.address = made.device.get();
        queue_lines(made.address, static_cast<std::uint32_t>(chase_lines), nullptr);
        check(cudaStreamSynchronize(nullptr), "lines to chase");
    } else {
        const std::size_t lines = host_lines(node_);
        made.host = std::make_unique<HostBuffer>(node_, place.index, lines * chase_line, HostPages::ordinary, 1);
        write_lines(static_cast<char*>(made.host->data()), lines, Team(node_.nearest_cpus(place.index)));
        made.locked = lock_pages(made.host->data(), made.host->bytes(), driver);
        made.host->require_placement();
        check(cudaHostGetDevicePointer(&made.address, made.host->data(), 0), "cudaHostGetDevicePointer");
    }
    return memories_.emplace(place.text(), std::move(made)).first->second;
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
        queue_chase(far.address, at.get(), steps, route.stream());
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
