// The cores of a NUMA node in the place of a GPU, so that everything but the GPU can be tried where there is none.
#include <cstring>
#include <map>
#include <utility>

#include "core/clock.h"
#include "core/joined_threads.h"
#include "kernels/level_one/host_operands.h"
#include "kernels/level_one/placed_kernel.h"
#include "node/cpus.h"
#include "node/rank_binding.h"

namespace nearfar {
namespace {

// Memory that stands for a GPU's.
struct DeviceMemory {
    std::vector<char> in;
    std::vector<char> out;
};

class HostKernel : public PlacedKernel {
public:
    HostKernel(const Problem& problem, HostOperands& operands) : problem_(problem), operands_(operands) {
        operands.require(shape());
        for (DeviceMemory& memory : sets_) memory = {std::vector<char>(shape().in_bytes), std::vector<char>(shape().out_bytes)};
        problem.compute_on_host(sets_[0].in.data(), sets_[0].out.data(), operands.team());
    }

    void begin() override {
        cpus_ = bind_thread(operands_.cpus());
        operands_.prepare(problem_);
        made(0);
    }

    CallTimes call() override { return made(0); }

    double overlapped(int calls) override {
        const double begin = now();
        JoinedThreads threads;
        for (int which = 0; which < shape().results(); ++which)
            threads.start([this, calls, which] {
                for (int i = which; i < calls; i += shape().results()) made(which);
            });
        threads.join();
        return (now() - begin) / calls;
    }

    double compute(int times, const std::function<void()>& meanwhile) override {
        meanwhile();
        const double begin = now();
        for (int i = 0; i < times; ++i) computed(0);
        return (now() - begin) / times;
    }

    Verified verify() override {
        Verified verified;
        for (int which = 0; which < shape().results(); ++which)
            verified.add(problem_.verify(operands_.in(), operands_.out(shape(), which), operands_.team()));
        return verified;
    }

    std::vector<int> cpus() const override { return cpus_; }
    std::vector<int> memory_nodes() const override { return operands_.memory_nodes(); }

private:
    const Problem& problem_;
    HostOperands& operands_;
    DeviceMemory sets_[2];
    std::vector<int> cpus_;

    const ProblemShape& shape() const { return problem_.shape(); }

    void computed(int which) {
        DeviceMemory& memory = sets_[which];
        problem_.compute_on_host(memory.in.data(), memory.out.data(), operands_.team());
    }

    CallTimes made(int which) {
        DeviceMemory& memory = sets_[which];
        const double begin = now();
        std::memcpy(memory.in.data(), operands_.in(), shape().in_bytes);
        const double there = now();
        computed(which);
        const double done = now();
        std::memcpy(operands_.out(shape(), which), memory.out.data(), shape().out_bytes);
        const double back = now();
        return {there - begin, done - there, back - done, back - begin};
    }
};

class HostPlaces : public KernelPlaces {
public:
    explicit HostPlaces(const Node& node) : node_(node) {}

    void reserve(const std::vector<Subject>&, const std::vector<ProblemShape>& shapes) override { shapes_ = shapes; }

    std::unique_ptr<PlacedKernel> place(const Subject& subject, const Problem& problem) override {
        std::unique_ptr<HostOperands>& operands = operands_[{subject.numa_node, subject.binding}];
        if (!operands) operands = std::make_unique<HostOperands>(node_, subject, shapes_, [](HostBuffer&) {});
        return std::make_unique<HostKernel>(problem, *operands);
    }

    RankDevice of_rank(int on_host, int) const override { return {{}, "", home_in_turn(node_, on_host)}; }

    std::vector<DocumentGpu> gpus() const override {
        std::vector<DocumentGpu> shown;
        for (const PciGpu& gpu : node_.gpus) shown.push_back({gpu, {}, false});
        return shown;
    }

private:
    const Node& node_;
    std::vector<ProblemShape> shapes_;
    std::map<std::pair<int, std::string>, std::unique_ptr<HostOperands>> operands_;  // by NUMA node and binding
};

}  // namespace

std::unique_ptr<KernelPlaces> host_places(const Node& node) { return std::make_unique<HostPlaces>(node); }

}  // namespace nearfar
