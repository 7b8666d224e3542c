// GPUs with operands in the memory of NUMA nodes.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <set>

#include "core/clock.h"
#include "gpu/gpu_call.h"
#include "gpu/gpu_device.h"
#include "gpu/host_registration.h"
#include "gpu/open_gpus.h"
#include "kernels/gpu_compute/cuda_library.h"
#include "kernels/gpu_compute/gpu_compute.h"
#include "kernels/gpu_compute/level_one_kernels.h"
#include "kernels/gpu_compute/product_check.h"
#include "kernels/level_one/gpu_sets.h"
#include "kernels/level_one/host_operands.h"
#include "kernels/level_one/placed_kernel.h"
#include "node/cpus.h"
#include "node/rank_binding.h"

namespace nearfar {
namespace {

constexpr int sets = GpuSets::sets;
constexpr int poison = 0xff;

class GpuKernel : public PlacedKernel {
public:
    // `operands`: null where they are made on the GPU and nothing is transferred.
    GpuKernel(const Problem& problem, HostOperands* operands, std::vector<int> cpus, const GpuDevice& gpu, const Nvml& nvml,
              GpuSets& memory)
        : problem_(problem), operands_(operands), cpus_(std::move(cpus)), gpu_(gpu), nvml_(nvml), memory_(memory) {
        if (operands_ != nullptr) operands_->require(shape());
        memory.require(shape());
        make_current();
        const int used = operands_ != nullptr ? shape().results() : 1;
        for (int set = 0; set < used; ++set) computes_[index(set)] = make_gpu_compute(shape(), memory.stream(set));
        if (shape().is_product()) products_ = std::make_unique<ProductCheck>(shape(), memory.stream(0));
    }
    ~GpuKernel() override { cudaSetDevice(gpu_.ordinal); }  // before what is freed there

    void begin() override {
        gpu_.require();
        bound_ = bind_thread(cpus_);
        make_current();
        calls_ = 0;
        check(cudaMemsetAsync(memory_.count(), 0, sizeof *memory_.count(), memory_.stream(0)), "cudaMemset");
        if (products_) products_->require_exact(computes_[0], memory_.in(shape(), 0), memory_.out(shape(), 0));
        if (operands_ == nullptr) return make_product();
        operands_->prepare(problem_);
        for (int set = 0; set < shape().results(); ++set) {
            check(cudaMemsetAsync(memory_.out(shape(), set), poison, shape().out_bytes, memory_.stream(set)), "cudaMemset");
            queue_in(set);
            queue_compute(set);
            queue_out(set);
            check(cudaStreamSynchronize(memory_.stream(set)), shape().kernel.c_str());
        }
    }

    bool transfers() const override { return operands_ != nullptr; }

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
        for (int set = 0; set < shape().results(); ++set)
            check(cudaStreamSynchronize(memory_.stream(set)), shape().kernel.c_str());
        return between(0, 1) / (even - sets);
    }

    // Each call has a place of its own for its results, which are compared with those of set 0 once the time is taken.
    double compute(int times, const std::function<void()>& meanwhile) override {
        const int places = shape().repeats ? memory_.places(shape()) : times;
        double seconds = 0;
        for (int done = 0; done < times; done += places) {
            const int together = std::min(places, times - done);
            if (shape().repeats)
                check(cudaMemsetAsync(memory_.place(shape(), 0), poison,
                                      static_cast<std::size_t>(memory_.place(shape(), together) - memory_.place(shape(), 0)),
                                      memory_.stream(0)),
                      "cudaMemset");
            record(0, 0);
            for (int i = 0; i < together; ++i) computes_[0](memory_.in(shape(), 0), result(i));
            record(1, 0);
            if (done == 0) meanwhile();
            for (int i = 0; i < together && shape().repeats; ++i)
                queue_differences(reinterpret_cast<const std::uint32_t*>(memory_.out(shape(), 0)),
                                  reinterpret_cast<const std::uint32_t*>(result(i)), shape().out_bytes / sizeof(std::uint32_t),
                                  memory_.count(), memory_.stream(0));
            check(cudaStreamSynchronize(memory_.stream(0)), shape().kernel.c_str());
            seconds += between(0, 1);
        }
        calls_ += times;
        return seconds / times;
    }

    Verified verify() override {
        Verified verified;
        if (operands_ != nullptr)
            for (int set = 0; set < shape().results(); ++set)
                verified.add(problem_.verify(operands_->in(), operands_->out(shape(), set), operands_->team()));
        if (shape().repeats) verified.add(require_same());
        return verified;
    }

    std::optional<GpuState> state() const override {
        const std::string& pci = gpu_.on_bus.pci;
        return GpuState{nvml_.running_state(pci), nvml_.throttle_reasons(pci), nvml_.corrected_errors(pci),
                        nvml_.uncorrected_errors(pci)};
    }

    std::vector<int> cpus() const override { return bound_; }
    std::vector<int> memory_nodes() const override {
        return operands_ != nullptr ? operands_->memory_nodes() : std::vector<int>{};
    }

private:
    const Problem& problem_;
    HostOperands* operands_;
    std::vector<int> cpus_;
    const GpuDevice& gpu_;
    const Nvml& nvml_;
    GpuSets& memory_;
    std::array<GpuCompute, sets> computes_;
    std::unique_ptr<ProductCheck> products_;  // of matrices alone
    std::vector<int> bound_;
    int calls_ = 0;  // that were compared

    static std::size_t index(int set) { return static_cast<std::size_t>(set); }
    const ProblemShape& shape() const { return problem_.shape(); }
    void make_current() const { check(cudaSetDevice(gpu_.ordinal), "cudaSetDevice"); }
    char* result(int call) const { return shape().repeats ? memory_.place(shape(), call) : memory_.out(shape(), 0); }

    // The results that others are compared with.
    void make_product() const {
        products_->queue_operands(memory_.in(shape(), 0), Operands::fractions);
        queue_compute(0);
        products_->require(memory_.in(shape(), 0), memory_.out(shape(), 0), Operands::fractions);
    }

    Verified require_same() const {
        unsigned long long different = 0;
        check(cudaMemcpyAsync(&different, memory_.count(), sizeof different, cudaMemcpyDeviceToHost, memory_.stream(0)),
              "a count to the host");
        check(cudaStreamSynchronize(memory_.stream(0)), shape().kernel.c_str());
        if (different > 0)
            throw Failure("wrong_data", shape().text() + ": the results of " + std::to_string(calls_) +
                                            " calls are not those of the first, of the same operands (words that differ: " +
                                            std::to_string(different) + ")");
        return {shape().out_bytes * static_cast<std::size_t>(calls_), 0, 0};
    }

    void queue_in(int set) const {
        check(cudaMemcpyAsync(memory_.in(shape(), set), operands_->in(), shape().in_bytes, cudaMemcpyHostToDevice,
                              memory_.stream(set)),
              "operands to the GPU");
    }
    void queue_compute(int set) const { computes_[index(set)](memory_.in(shape(), set), memory_.out(shape(), set)); }
    void queue_out(int set) const {
        check(cudaMemcpyAsync(operands_->out(shape(), set), memory_.out(shape(), set), shape().out_bytes, cudaMemcpyDeviceToHost,
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
    GpuPlaces(const Node& node, bool even_if_busy, bool rate_only)
        : node_(node), rate_only_(rate_only), gpus_(node, even_if_busy) {}

    void reserve(const std::vector<Subject>& subjects, const std::vector<ProblemShape>& shapes) override {
        std::set<int> wanted;
        for (const Subject& subject : subjects) wanted.insert(*subject.gpu);
        gpus_.open({wanted.begin(), wanted.end()});
        shapes_ = shapes;
    }

    std::unique_ptr<PlacedKernel> place(const Subject& subject, const Problem& problem) override {
        gpus_.require_process();
        const GpuDevice& gpu = gpus_.at(*subject.gpu);
        gpu.require();
        HostOperands* const operands = rate_only_ ? nullptr : operands_of(subject, gpu);
        std::unique_ptr<GpuSets>& memory = memory_[gpu.index];
        if (!memory) memory = std::make_unique<GpuSets>(gpu, shapes_);
        return std::make_unique<GpuKernel>(problem, operands, driving_cpus(node_, subject), gpu, gpus_.nvml(), *memory);
    }

    // Not where each GPU has its operands beside it, on NUMA nodes of their own, and no bridge stands above both. Products without transfers
    // take turns too: side by side no GPU rests, and at their power cap dgemm on two H200s varied by 3.6 % between runs, not by 0.2 %.
    bool share(const Subject& a, const Subject& b) const override {
        const PciGpu& first = gpus_.at(*a.gpu).on_bus;
        const PciGpu& second = gpus_.at(*b.gpu).on_bus;
        if (a.gpu == b.gpu || a.numa_node == b.numa_node) return true;
        if (first.numa_node != a.numa_node || second.numa_node != b.numa_node) return true;
        return std::any_of(first.uplinks.begin(), first.uplinks.end(), [&](const std::string& bridge) {
            return std::find(second.uplinks.begin(), second.uplinks.end(), bridge) != second.uplinks.end();
        });
    }

    std::map<std::string, std::string> libraries() const override { return opened_libraries(); }

    RankDevice of_rank(int on_host, int ranks) const override {
        const GpuDevice& gpu = gpu_of_rank(on_host, ranks);
        gpu.require();
        return {gpu.index, gpu.on_bus.pci, known_home(node_, gpu.on_bus.numa_node)};
    }

    std::vector<DocumentGpu> gpus() const override { return gpus_.shown(); }
    std::string driver() const override { return gpus_.nvml().driver_version(); }

    Failure blame(const Subject& subject, const Failure& why) override {
        const std::string to_gpu = "n" + std::to_string(subject.numa_node) + ":g" + std::to_string(*subject.gpu);
        return gpus_.blame(parse_cell(to_gpu), why);
    }

private:
    const Node& node_;
    bool rate_only_;
    OpenGpus gpus_;
    std::vector<ProblemShape> shapes_;
    std::map<std::pair<int, std::string>, std::unique_ptr<HostOperands>> operands_;  // by NUMA node and binding
    std::vector<LockedPages> locked_;                                                // of operands
    std::map<int, std::unique_ptr<GpuSets>> memory_;                                 // by GPU

    // The visible one of the rank's number, or the only one that it sees.
    const GpuDevice& gpu_of_rank(int on_host, int ranks) const {
        std::vector<const GpuDevice*> visible;
        for (const GpuDevice& gpu : gpus_.all())
            if (gpu.ordinal >= 0) visible.push_back(&gpu);
        if (gpus_.all().empty())
            throw Prevented("missing_library", "this node has no NVIDIA GPU on its PCI bus; --device host needs none");
        if (visible.empty()) gpus_.at(on_host % static_cast<int>(gpus_.all().size())).require();
        // A launcher that gives each task its own GPU shows one to each.
        if (visible.size() == 1) return *visible.front();
        if (visible.size() < static_cast<std::size_t>(ranks))
            throw WrongUse(std::to_string(ranks) + " ranks on this host and " + std::to_string(visible.size()) +
                           " GPUs: start one rank a GPU");
        return *visible[static_cast<std::size_t>(on_host)];
    }

    HostOperands* operands_of(const Subject& subject, const GpuDevice& gpu) {
        std::unique_ptr<HostOperands>& operands = operands_[{subject.numa_node, subject.binding}];
        if (!operands)
            operands = std::make_unique<HostOperands>(node_, subject, shapes_, [&](HostBuffer& memory) {
                locked_.push_back(lock_pages(memory.data(), memory.bytes(), gpu));
                memory.require_placement();
            });
        return operands.get();
    }
};

}  // namespace

std::unique_ptr<KernelPlaces> gpu_places(const Node& node, bool even_if_busy, bool rate_only) {
    return std::make_unique<GpuPlaces>(node, even_if_busy, rate_only);
}

std::string cuda_of_kernels() { return compiled_cuda_version(); }

}  // namespace nearfar
