// A GPU that multiplies matrices without a pause, of which every product is checked.
//
// The operands are whole numbers, so that every sum of products is exact. The products of a batch are added up, and each element of the sum is
// compared, on the GPU, with so many times the element of a product that was verified before: one comparison sees every product.
#pragma once

#include <cuda_runtime_api.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "gpu/gpu_device.h"
#include "kernels/gpu_compute/gpu_compute.h"
#include "kernels/level_one/gpu_sets.h"
#include "kernels/level_one/placed_kernel.h"

namespace nearfar {

// A second under load. Of several looks at the driver the last clocks, the most power and heat, and every throttle reason.
struct SustainedSecond {
    double at = 0;       // when it ended, in seconds since the load began
    double seconds = 0;  // that the GPU computed
    int products = 0;
    std::uint64_t wrong = 0;  // elements of sums that are not those of the products
    GpuState state;

    double rate(const ProblemShape& shape) const { return products * shape.counted / seconds * 1e-9; }
};

class SustainedLoad {
public:
    // Takes memory and verifies one product. All outlive it. Throws Prevented (no_memory, missing_library), Failure (wrong_data) or what the
    // GPU answers.
    SustainedLoad(const GpuDevice& gpu, const Nvml& nvml, const ProblemShape& shape);
    ~SustainedLoad();
    SustainedLoad(const SustainedLoad&) = delete;
    SustainedLoad& operator=(const SustainedLoad&) = delete;

    // Until so many seconds from `begin` on (of running_time()) are over, or an interrupt.
    void run(double begin, double seconds);

    // From any thread: what is known so far, and when a batch of products last ended, in running_time().
    std::vector<SustainedSecond> series() const;
    double last_progress() const { return last_progress_; }

private:
    const GpuDevice& gpu_;
    const Nvml& nvml_;
    ProblemShape shape_;
    GpuSets memory_;
    PinnedMemory<unsigned long long> right_;  // elements that were right by the end of a batch, of two batches in turn
    GpuCompute first_;                        // of a batch
    GpuCompute more_;                         // adds
    int products_ = 1;                        // of a batch
    mutable std::mutex mutex_;
    std::vector<SustainedSecond> series_;
    std::atomic<double> last_progress_{0};

    cudaStream_t stream() const { return memory_.stream(0); }
    const char* operands() const { return memory_.in(shape_, 0); }
    char* sum() const { return memory_.out(shape_, 0); }
    char* product() const { return memory_.out(shape_, 1); }
    std::uint64_t elements() const { return shape_.n * shape_.n; }
    cudaEvent_t end_of(std::uint64_t batch) const { return memory_.event(static_cast<int>(batch % 4)); }
    unsigned long long& right_after(std::uint64_t batch) const { return right_.get()[batch % 2]; }
    void queue_batch(std::uint64_t batch);
    void look(SustainedSecond& second) const;
};

}  // namespace nearfar
