// Streams, events and memory of a GPU, which its kernels share one after the other.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "gpu/gpu_device.h"
#include "gpu/gpu_handles.h"
#include "kernels/problems/problem.h"

namespace nearfar {

// Two sets of operands and results, each with a stream, and behind them places for the results of calls that are compared with set 0's.
class GpuSets {
public:
    // For the largest of these problems that fits.
    GpuSets(const GpuDevice& gpu, const std::vector<ProblemShape>& shapes);

    static constexpr int sets = 2;

    // Throws Prevented (no_memory) where the problem does not fit.
    void require(const ProblemShape& shape) const;
    cudaStream_t stream(int set) const { return streams_[static_cast<std::size_t>(set)].get(); }
    cudaEvent_t event(int which) const { return events_[static_cast<std::size_t>(which)].get(); }
    char* in(const ProblemShape& shape, int set) const;
    char* out(const ProblemShape& shape, int set) const;
    // How many places there are for what repeats: one at least.
    int places(const ProblemShape& shape) const;
    char* place(const ProblemShape& shape, int which) const;
    // For one number, on the GPU.
    unsigned long long* count() const { return reinterpret_cast<unsigned long long*>(memory_.get()); }

private:
    const GpuDevice& gpu_;
    std::array<GpuStream, sets> streams_;
    std::array<GpuEvent, 4> events_;
    GpuMemory<char> memory_;
    std::size_t bytes_ = 0;
};

}  // namespace nearfar
