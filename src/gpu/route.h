// A flow made ready: its buffers, its GPU's stream, the thread that drives it, and how one copy of it is queued.
#pragma once

#include <cstddef>
#include <vector>

#include "cell/cell.h"
#include "gpu/buffers.h"
#include "gpu/checked_series.h"

namespace nearfar {

class Route : public CheckedSeries {
public:
    // `gpu` drives the flow, `checker` reads what arrived (the destination's GPU). `share` of `shares`: the part of the flow's
    // buffers that one of several tasks uses.
    Route(const Flow& flow, const FlowBuffers& keys, const Buffers& buffers, const GpuDevice& gpu, const GpuDevice& checker,
          std::vector<int> cpus, int share = 0, int shares = 1);
    // The CPUs that its driving thread is to be bound to.
    const std::vector<int>& cpus() const { return cpus_; }
    const std::vector<int>& memory_nodes() const { return memory_nodes_; }
    // Bytes of the part of the buffers that this route uses.
    std::size_t bytes() const { return bytes_; }

    // A copy that nobody will look for.
    void queue_copy(std::size_t bytes) const;

    // Begins a series of copies of `bytes` into so many places, all of them poison. Leaves the checker current, as verify() does.
    void begin_series(std::size_t bytes, std::size_t places);
    // Copies of the series, all in one lap. `one_kernel`: where it is a kernel that copies, one for all, whose start-up, 9 us on an H200, is
    // paid once.
    void queue_copies(int copies, bool one_kernel = false) override;

private:
    int source_ordinal_ = -1;  // CUDA's numbers of the two ends, -1 for host memory
    int destination_ordinal_ = -1;
    std::vector<int> cpus_;
    std::vector<int> memory_nodes_;
    std::size_t bytes_ = 0;
    std::size_t room_ = 0;  // of the destination: for the steps of a series too
    std::uint64_t seed_ = 0;
    char* source_ = nullptr;  // as the copy engine takes them
    char* destination_ = nullptr;
    char* sm_source_ = nullptr;  // as a kernel addresses them
    char* sm_destination_ = nullptr;

    void queue(const CopyPlace& place, std::size_t bytes, int passes) const;
    void compare(const std::vector<Arrival>& arrivals) const override;
};

}  // namespace nearfar
