#include "flow/latency.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <numeric>
#include <random>

#include "flow/clock.h"
#include "flow/error.h"
#include "flow/gpu_call.h"
#include "flow/gpu_kernels.h"
#include "flow/host_memory.h"
#include "flow/interrupt.h"

namespace nearfar {
namespace {

constexpr std::size_t tiny_copy = 8;
constexpr int copies_a_sample = 100;
constexpr std::size_t lines = std::size_t{1} << 20;  // of chase_line bytes: more than any cache between holds
constexpr std::uint32_t short_run = 1000;
constexpr std::uint32_t long_run = 9000;
constexpr double microsecond = 1e-6;

// Samples until the interval of the median is narrow enough; throws Prevented where not even six could be had.
Summary sample_until_narrow(const Policy& policy, double seconds, const std::function<double()>& sample) {
    const double end = now() + seconds;
    sample();  // warm-up
    std::vector<double> samples;
    for (const std::size_t look : looks) {
        while (samples.size() < look && (samples.size() < looks.front() || now() < end) && !interrupted())
            samples.push_back(sample());
        if (samples.size() < look || summarise(samples).half_width() <= policy.target) break;
    }
    if (samples.size() < looks.front()) throw Prevented("interrupted", "interrupted while it was measured");
    return summarise(samples);
}

// Time of one call, from enqueueing to completion, in microseconds: the median over a batch, which waking up rarely disturbs.
double completion_time(cudaStream_t stream, const std::function<void()>& enqueue) {
    std::vector<double> times(copies_a_sample);
    for (double& time : times) {
        const double start = now();
        enqueue();
        check(cudaStreamSynchronize(stream), "waiting for completion");
        time = (now() - start) / microsecond;
    }
    std::nth_element(times.begin(), times.begin() + copies_a_sample / 2, times.end());
    return times[copies_a_sample / 2];
}

// The lines that are chased, in the memory that the driving GPU reaches over the path.
class ChaseMemory {
public:
    ChaseMemory(const Route& route, const Node& node, const std::vector<GpuDevice>& gpus) {
        const Flow& flow = route.flow();
        const std::vector<std::uint32_t> next = random_cycle(lines, 1);
        if (flow.is_host_flow()) {
            host_ = std::make_unique<HostBuffer>(node, flow.numa_node(), lines * chase_line, HostPages::ordinary, 1);
            write(static_cast<char*>(host_->data()), next);
            check(cudaHostRegister(host_->data(), host_->bytes(), cudaHostRegisterPortable | cudaHostRegisterMapped),
                  "cudaHostRegister");
            registered_ = true;
            check(cudaHostGetDevicePointer(&address_, host_->data(), 0), "cudaHostGetDevicePointer");
            return;
        }
        const int far = flow.driving_gpu() == flow.source.index ? flow.destination.index : flow.source.index;
        ordinal_ = gpus[static_cast<std::size_t>(far)].ordinal;
        std::vector<char> content(lines * chase_line);
        write(content.data(), next);
        check(cudaSetDevice(ordinal_), "cudaSetDevice");
        check(cudaMalloc(&address_, content.size()), "device memory");
        check(cudaMemcpy(address_, content.data(), content.size(), cudaMemcpyHostToDevice), "cudaMemcpy");
        route.make_current();
    }
    ~ChaseMemory() {
        if (registered_) cudaHostUnregister(host_->data());
        if (!host_ && address_ != nullptr && cudaSetDevice(ordinal_) == cudaSuccess) cudaFree(address_);
    }
    ChaseMemory(const ChaseMemory&) = delete;
    ChaseMemory& operator=(const ChaseMemory&) = delete;

    const void* address() const { return address_; }

private:
    std::unique_ptr<HostBuffer> host_;
    bool registered_ = false;
    void* address_ = nullptr;
    int ordinal_ = -1;

    static void write(char* data, const std::vector<std::uint32_t>& next) {
        for (std::size_t line = 0; line < lines; ++line) *reinterpret_cast<std::uint32_t*>(data + line * chase_line) = next[line];
    }
};

}  // namespace

std::vector<std::uint32_t> random_cycle(std::size_t count, std::uint64_t seed) {
    std::vector<std::uint32_t> order(count);
    std::iota(order.begin(), order.end(), 0U);
    std::mt19937_64 random(seed);
    std::shuffle(order.begin(), order.end(), random);
    std::vector<std::uint32_t> next(count);
    for (std::size_t i = 0; i < count; ++i) next[order[i]] = order[(i + 1) % count];
    return next;
}

Summary copy_latency(const Route& route, const Policy& policy, double seconds) {
    route.make_current();
    return sample_until_narrow(policy, seconds,
                               [&] { return completion_time(route.stream(), [&] { route.queue_copy(0, tiny_copy); }); });
}

Summary launch_latency(const Route& route, const Policy& policy, double seconds) {
    route.make_current();
    return sample_until_narrow(policy, seconds,
                               [&] { return completion_time(route.stream(), [&] { queue_nothing(route.stream()); }); });
}

Summary chase_latency(const Route& route, const Node& node, const std::vector<GpuDevice>& gpus, const Policy& policy,
                      double seconds) {
    route.make_current();
    const ChaseMemory memory(route, node, gpus);
    route.make_current();
    std::uint32_t* at = nullptr;  // where the last run stopped, so that the next goes on from there
    check(cudaMalloc(reinterpret_cast<void**>(&at), sizeof *at), "device memory");
    const std::unique_ptr<std::uint32_t, cudaError_t (*)(void*)> freed(at, cudaFree);
    check(cudaMemset(at, 0, sizeof *at), "cudaMemset");
    cudaEvent_t raw[2] = {};
    for (cudaEvent_t& event : raw) check(cudaEventCreate(&event), "cudaEventCreate");
    const auto run = [&](std::uint32_t steps) {
        check(cudaEventRecord(raw[0], route.stream()), "cudaEventRecord");
        queue_chase(memory.address(), at, steps, route.stream());
        check(cudaEventRecord(raw[1], route.stream()), "cudaEventRecord");
        check(cudaEventSynchronize(raw[1]), "chasing");
        float milliseconds = 0;
        check(cudaEventElapsedTime(&milliseconds, raw[0], raw[1]), "cudaEventElapsedTime");
        return static_cast<double>(milliseconds) * 1e3;
    };
    const Summary summary =
        sample_until_narrow(policy, seconds, [&] { return (run(long_run) - run(short_run)) / (long_run - short_run); });
    for (const cudaEvent_t event : raw) cudaEventDestroy(event);
    return summary;
}

}  // namespace nearfar
