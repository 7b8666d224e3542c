// GPUs with operands in the memory of NUMA nodes.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <set>

#include "core/clock.h"
#include "gpu/document_gpus.h"
#include "gpu/event_time.h"
#include "gpu/gpu_call.h"
#include "gpu/gpu_device.h"
#include "gpu/host_registration.h"
#include "gpu/lost_gpu.h"
#include "gpu/rank_gpu.h"
#include "kernels/gpu_compute/cuda_library.h"
#include "kernels/gpu_compute/gpu_compute.h"
#include "kernels/level_one/host_operands.h"
#include "kernels/level_one/placed_kernel.h"
#include "node/cpus.h"
#include "node/rank_binding.h"

namespace nearfar {
namespace {

constexpr int sets = HostOperands::results;  // of memory, each with a stream
constexpr std::size_t alignment = 256;
constexpr std::size_t left_free = std::size_t{256} << 20;  // for what libraries take
constexpr int poison = 0xff;

std::size_t aligned(std::size_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

std::size_t needed(const ProblemShape& shape) { return sets * (aligned(shape.in_bytes) + aligned(shape.out_bytes)); }

// Streams, events and memory of a GPU, which its kernels share one after the other.
class GpuSets {
public:
    // For the largest of these problems that fits.
    GpuSets(const GpuDevice& gpu, const std::vector<ProblemShape>& shapes) : gpu_(gpu) {
        check(cudaSetDevice(gpu.ordinal), "cudaSetDevice");
        for (cudaStream_t& stream : streams_)
            check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
        for (cudaEvent_t& event : events_) check(cudaEventCreate(&event), "cudaEventCreate");
        std::size_t free = 0;
        std::size_t total = 0;
        check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
        for (const ProblemShape& shape : shapes)
            if (needed(shape) + left_free <= free) bytes_ = std::max(bytes_, needed(shape));
        if (bytes_ > 0) check(cudaMalloc(reinterpret_cast<void**>(&memory_), bytes_), "device memory");
    }
    ~GpuSets() {
        if (cudaSetDevice(gpu_.ordinal) != cudaSuccess) return;
        for (const cudaEvent_t event : events_)
            if (event != nullptr) cudaEventDestroy(event);
        for (const cudaStream_t stream : streams_)
            if (stream != nullptr) cudaStreamDestroy(stream);
        cudaFree(memory_);
    }
    GpuSets(const GpuSets&) = delete;
    GpuSets& operator=(const GpuSets&) = delete;

    void require(const ProblemShape& shape) const {
        if (needed(shape) > bytes_)
            throw Prevented("no_memory", shape.text() + " needs " + std::to_string(needed(shape) >> 20) + " MiB of " +
                                             gpu_.name() + "'s memory: less is free");
    }
    cudaStream_t stream(int set) const { return streams_[static_cast<std::size_t>(set)]; }
    cudaEvent_t event(int which) const { return events_[static_cast<std::size_t>(which)]; }
    char* in(const ProblemShape& shape, int set) const { return memory_ + static_cast<std::size_t>(set) * needed(shape) / sets; }
    char* out(const ProblemShape& shape, int set) const { return in(shape, set) + aligned(shape.in_bytes); }

private:
    const GpuDevice& gpu_;
    std::array<cudaStream_t, sets> streams_{};
    std::array<cudaEvent_t, 4> events_{};
    char* memory_ = nullptr;
    std::size_t bytes_ = 0;
};

class GpuKernel : public PlacedKernel {
public:
    GpuKernel(const Problem& problem, HostOperands& operands, const GpuDevice& gpu, const Nvml& nvml, GpuSets& memory)
        : problem_(problem), operands_(operands), gpu_(gpu), nvml_(nvml), memory_(memory) {
        operands.require(shape());
        memory.require(shape());
        make_current();
        for (int set = 0; set < sets; ++set) computes_[index(set)] = make_gpu_compute(shape(), memory.stream(set));
    }
    ~GpuKernel() override { cudaSetDevice(gpu_.ordinal); }  // before what is freed there

    void begin() override {
        gpu_.require();
        cpus_ = bind_thread(operands_.cpus());
        make_current();
        operands_.prepare(problem_);
        for (int set = 0; set < sets; ++set) {
            check(cudaMemsetAsync(memory_.out(shape(), set), poison, shape().out_bytes, memory_.stream(set)), "cudaMemset");
            queue_in(set);
            queue_compute(set);
            queue_out(set);
            check(cudaStreamSynchronize(memory_.stream(set)), shape().kernel.c_str());
        }
    }

    CallTimes call() override {
        const double begin = now();
        record(0, 0);
        queue_in(0);
        record(1, 0);
        queue_compute(0);
        record(2, 0);
        queue_out(0);
        record(3, 0);
        check(cudaStreamSynchronize(memory_.stream(0)), shape().kernel.c_str());
        const double end = now();
        return {between(0, 1), between(1, 2), between(2, 3), end - begin};
    }

    // From the end of the second call to that of the last: both are of the second set.
    double overlapped(int calls) override {
        const int even = std::max(4, calls / sets * sets);
        for (int i = 0; i < even; ++i) {
            const int set = i % sets;
            queue_in(set);
            queue_compute(set);
            queue_out(set);
            if (i == sets - 1) record(0, set);
            if (i == even - 1) record(1, set);
        }
        for (int set = 0; set < sets; ++set) check(cudaStreamSynchronize(memory_.stream(set)), shape().kernel.c_str());
        return between(0, 1) / (even - sets);
    }

    double compute(int times, const std::function<void()>& meanwhile) override {
        record(0, 0);
        for (int i = 0; i < times; ++i) queue_compute(0);
        record(1, 0);
        meanwhile();
        check(cudaStreamSynchronize(memory_.stream(0)), shape().kernel.c_str());
        return between(0, 1) / times;
    }

    Verified verify() override {
        Verified verified;
        for (int set = 0; set < sets; ++set)
            verified.add(problem_.verify(operands_.in(), operands_.out(shape(), set), operands_.team()));
        return verified;
    }

    std::optional<GpuState> state() const override {
        const std::string& pci = gpu_.on_bus.pci;
        return GpuState{nvml_.running_state(pci), nvml_.throttle_reasons(pci), nvml_.corrected_errors(pci),
                        nvml_.uncorrected_errors(pci)};
    }

    std::vector<int> cpus() const override { return cpus_; }
    std::vector<int> memory_nodes() const override { return operands_.memory_nodes(); }

private:
    const Problem& problem_;
    HostOperands& operands_;
    const GpuDevice& gpu_;
    const Nvml& nvml_;
    GpuSets& memory_;
    std::array<std::unique_ptr<GpuCompute>, sets> computes_;
    std::vector<int> cpus_;

    static std::size_t index(int set) { return static_cast<std::size_t>(set); }
    const ProblemShape& shape() const { return problem_.shape(); }
    void make_current() const { check(cudaSetDevice(gpu_.ordinal), "cudaSetDevice"); }

    void queue_in(int set) const {
        check(cudaMemcpyAsync(memory_.in(shape(), set), operands_.in(), shape().in_bytes, cudaMemcpyHostToDevice,
                              memory_.stream(set)),
              "operands to the GPU");
    }
    void queue_compute(int set) const { computes_[index(set)]->queue(memory_.in(shape(), set), memory_.out(shape(), set)); }
    void queue_out(int set) const {
        check(cudaMemcpyAsync(operands_.out(shape(), set), memory_.out(shape(), set), shape().out_bytes, cudaMemcpyDeviceToHost,
                              memory_.stream(set)),
              "results to the host");
    }
    void record(int event, int set) const {
        check(cudaEventRecord(memory_.event(event), memory_.stream(set)), "cudaEventRecord");
    }
    double between(int from, int to) const { return seconds_between(memory_.event(from), memory_.event(to)); }
};

class GpuPlaces : public KernelPlaces {
public:
    GpuPlaces(const Node& node, bool even_if_busy) : node_(node), gpus_(find_gpus(node, nvml_, start_cuda(), even_if_busy)) {}
    ~GpuPlaces() override {
        for (const auto& [place, operands] : operands_)
            if (operands) cudaHostUnregister(operands->in());
    }

    void reserve(const std::vector<Subject>& subjects, const std::vector<ProblemShape>& shapes) override {
        std::set<int> wanted;
        for (const Subject& subject : subjects) wanted.insert(*subject.gpu);
        open_gpus(gpus_, {wanted.begin(), wanted.end()});
        lost_ = std::make_unique<LostGpus>(gpus_, nvml_, std::vector<int>(wanted.begin(), wanted.end()));
        shapes_ = shapes;
    }

    std::unique_ptr<PlacedKernel> place(const Subject& subject, const Problem& problem) override {
        lost_->require_process();
        const GpuDevice& gpu = gpus_[static_cast<std::size_t>(*subject.gpu)];
        gpu.require();
        std::unique_ptr<HostOperands>& operands = operands_[{subject.numa_node, subject.binding}];
        if (!operands) operands = make_operands(subject, gpu);
        std::unique_ptr<GpuSets>& memory = memory_[gpu.index];
        if (!memory) memory = std::make_unique<GpuSets>(gpu, shapes_);
        return std::make_unique<GpuKernel>(problem, *operands, gpu, nvml_, *memory);
    }

    // Not where each GPU has its operands beside it, on NUMA nodes of their own, and no bridge stands above both.
    bool share(const Subject& a, const Subject& b) const override {
        const PciGpu& first = gpus_[static_cast<std::size_t>(*a.gpu)].on_bus;
        const PciGpu& second = gpus_[static_cast<std::size_t>(*b.gpu)].on_bus;
        if (a.gpu == b.gpu || a.numa_node == b.numa_node) return true;
        if (first.numa_node != a.numa_node || second.numa_node != b.numa_node) return true;
        return std::any_of(first.uplinks.begin(), first.uplinks.end(), [&](const std::string& bridge) {
            return std::find(second.uplinks.begin(), second.uplinks.end(), bridge) != second.uplinks.end();
        });
    }

    std::map<std::string, std::string> libraries() const override { return opened_libraries(); }

    RankDevice of_rank(int on_host, int ranks) const override {
        const GpuDevice& gpu = gpu_of_rank(gpus_, on_host, ranks);
        gpu.require();
        return {gpu.index, gpu.on_bus.pci, known_home(node_, gpu.on_bus.numa_node)};
    }

    std::vector<DocumentGpu> gpus() const override { return gpus_for_document(gpus_); }
    std::string driver() const override { return nvml_.driver_version(); }

    Failure blame(const Subject& subject, const Failure& why) override {
        const std::string to_gpu = "n" + std::to_string(subject.numa_node) + ":g" + std::to_string(*subject.gpu);
        return lost_->blame(parse_cell(to_gpu), why);
    }

private:
    const Node& node_;
    Nvml nvml_;
    std::vector<GpuDevice> gpus_;
    std::unique_ptr<LostGpus> lost_;
    std::vector<ProblemShape> shapes_;
    std::map<std::pair<int, std::string>, std::unique_ptr<HostOperands>> operands_;  // by NUMA node and binding
    std::map<int, std::unique_ptr<GpuSets>> memory_;                                 // by GPU

    std::unique_ptr<HostOperands> make_operands(const Subject& subject, const GpuDevice& gpu) const {
        return std::make_unique<HostOperands>(node_, subject, shapes_, [&](HostBuffer& memory) {
            register_host(memory.data(), memory.bytes(), gpu);
            memory.require_placement();
        });
    }
};

}  // namespace

std::unique_ptr<KernelPlaces> gpu_places(const Node& node, bool even_if_busy) {
    return std::make_unique<GpuPlaces>(node, even_if_busy);
}

std::string cuda_of_kernels() { return compiled_cuda_version(); }

}  // namespace nearfar
