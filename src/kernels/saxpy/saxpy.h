// The pattern of POP's "Appropriate process/thread mapping to GPUs": in each iteration x and y go to the device, y = a x + y runs
// there, y comes back. One rank's part of it, without MPI.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "memory/host_memory.h"
#include "node/node.h"

namespace nearfar {

// Whole numbers all the way, so that single precision is exact and the answer after any number of iterations is known.
constexpr float saxpy_a = 2;

// x and y of one rank in host memory. y comes back in every iteration and goes out again in the next, so that one transfer
// that is missed or wrong shows for ever.
class SaxpyVectors {
public:
    // Two vectors of `bytes` each on one NUMA node; throws what HostBuffer throws. `owner` makes the values differ between ranks.
    SaxpyVectors(const Node& node, int numa_node, std::size_t bytes, int owner);

    float* x() const { return static_cast<float*>(memory_.data()); }
    float* y() const { return x() + length_; }
    std::size_t length() const { return length_; }
    std::size_t bytes() const { return length_ * sizeof(float); }
    void* data() const { return memory_.data(); }
    std::size_t all_bytes() const { return memory_.bytes(); }
    const std::vector<int>& memory_nodes() const { return memory_.memory_nodes(); }

    // Elements of y that are not y0 + iterations a x; at most 2^19 iterations are exact.
    std::size_t wrong_after(std::uint64_t iterations) const;

private:
    std::size_t length_;
    int owner_;
    HostBuffer memory_;
};

// What an iteration took, in seconds.
struct SaxpyStep {
    double to_device = 0;
    double kernel = 0;
    double to_host = 0;
};

// Where a rank's kernel runs.
class SaxpyDevice {
public:
    virtual ~SaxpyDevice() = default;
    // What these vectors need beside their memory, such as its registration; goes before they do.
    virtual std::shared_ptr<void> prepare(const SaxpyVectors& vectors) = 0;
    virtual SaxpyStep iterate(const SaxpyVectors& vectors) = 0;
};

// y[i] += a x[i] by the calling thread, or by several that it starts.
void saxpy_on_host(float* y, const float* x, std::size_t length, int threads);

// Host memory in the place of a GPU's, so that the pattern runs everywhere: copies by the calling thread, a kernel by `threads`.
class HostSaxpy : public SaxpyDevice {
public:
    HostSaxpy(const Node& node, int numa_node, std::size_t bytes, int threads);
    std::shared_ptr<void> prepare(const SaxpyVectors& vectors) override;
    SaxpyStep iterate(const SaxpyVectors& vectors) override;

private:
    HostBuffer memory_;
    int threads_;
};

}  // namespace nearfar
