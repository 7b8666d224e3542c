// A problem where it is computed: its operands in the memory of a NUMA node, and a GPU, or that node's cores, to compute it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "kernels/level_one/subject.h"
#include "kernels/problems/problem.h"
#include "node/nvml.h"
#include "output/document.h"

namespace nearfar {

// The parts of one call, one after the other, in seconds.
struct CallTimes {
    double in = 0;
    double compute = 0;
    double out = 0;
    double total = 0;  // of the wall's clock
};

// What the driver says of a GPU while it computes; nothing where it does not say.
struct GpuState {
    RunningState running;
    std::vector<std::string> throttle;
    std::optional<std::uint64_t> corrected_errors;  // of memory, since its last reset
    std::optional<std::uint64_t> uncorrected_errors;
};

class PlacedKernel {
public:
    PlacedKernel() = default;
    virtual ~PlacedKernel() = default;
    PlacedKernel(const PlacedKernel&) = delete;
    PlacedKernel& operator=(const PlacedKernel&) = delete;

    // Operands in their place, results poisoned, the thread bound, one call made. Before the first call of a visit.
    virtual void begin() = 0;
    // Whether operands and results are transferred: else it is not asked for calls.
    virtual bool transfers() const { return true; }
    virtual CallTimes call() = 0;
    // So many calls with two sets of memory in turn; seconds for each once the first are over. At least four.
    virtual double overlapped(int calls) = 0;
    // Computes so often without a transfer; seconds for each. `meanwhile` is called while it does.
    virtual double compute(int times, const std::function<void()>& meanwhile) = 0;
    // Of all results that calls left, and of every result of compute() where they are the same from time to time. Throws Failure (wrong_data).
    virtual Verified verify() = 0;
    virtual std::optional<GpuState> state() const { return {}; }
    // The driving thread's binding in effect, and where the host pages are.
    virtual std::vector<int> cpus() const = 0;
    virtual std::vector<int> memory_nodes() const = 0;
};

// What a rank computes on, of those that were started one a GPU.
struct RankDevice {
    std::optional<int> gpu;        // nothing: the cores
    std::string identity;          // what no other rank of the host may have too; empty: nothing
    std::optional<int> numa_node;  // where it hangs
};

// Everything that subjects may be made of, with the memory that their kernels share.
class KernelPlaces {
public:
    KernelPlaces() = default;
    virtual ~KernelPlaces() = default;
    KernelPlaces(const KernelPlaces&) = delete;
    KernelPlaces& operator=(const KernelPlaces&) = delete;

    // Opens GPUs and takes memory for the largest of the problems that fits; before place().
    virtual void reserve(const std::vector<Subject>& subjects, const std::vector<ProblemShape>& shapes) = 0;
    // Throws Prevented where it cannot be had there. `problem` outlives what it returns.
    virtual std::unique_ptr<PlacedKernel> place(const Subject& subject, const Problem& problem) = 0;
    // As the document has them.
    virtual std::vector<DocumentGpu> gpus() const = 0;
    virtual std::string driver() const { return ""; }
    // Whether kernels on both at the same time may slow each other down.
    virtual bool share(const Subject&, const Subject&) const { return true; }
    // Of the host's rank number `on_host` of `ranks`. Throws WrongUse for more ranks than GPUs, and why its GPU cannot be used.
    virtual RankDevice of_rank(int on_host, int ranks) const = 0;
    // CUDA's libraries that were used, with their versions: "cublas".
    virtual std::map<std::string, std::string> libraries() const { return {}; }
    // The failure, with the GPU's name where it answers no more.
    virtual Failure blame(const Subject&, const Failure& why) { return why; }
};

std::unique_ptr<KernelPlaces> host_places(const Node& node);
// `rate_only`: without transfers, which is for matrix products. A build without CUDA throws Prevented (missing_library).
std::unique_ptr<KernelPlaces> gpu_places(const Node& node, bool even_if_busy, bool rate_only);
// The CUDA of this build; empty for none.
std::string cuda_of_kernels();

}  // namespace nearfar
