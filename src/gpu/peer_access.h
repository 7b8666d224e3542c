// Which GPU may address which other's memory: given when a cell needs it, taken away when one must do without, all released at
// the end.
#pragma once

#include <set>
#include <utility>
#include <vector>

#include "cell/cell.h"
#include "gpu/gpu_device.h"

namespace nearfar {

class PeerAccess {
public:
    explicit PeerAccess(const std::vector<GpuDevice>& gpus) : gpus_(gpus) {}
    ~PeerAccess();
    PeerAccess(const PeerAccess&) = delete;
    PeerAccess& operator=(const PeerAccess&) = delete;

    // Gives the peer flows of a cell what they need: access for the driving GPU (or the one that computes), none between the two of a /staged flow. Throws
    // Prevented (unsupported) where the hardware cannot, or where the cell contradicts itself.
    void arrange(const Cell& cell);

private:
    using Pair = std::pair<int, int>;  // who accesses whose memory, by GPU number
    const std::vector<GpuDevice>& gpus_;
    std::set<Pair> given_;

    const GpuDevice& gpu(int index) const { return gpus_[static_cast<std::size_t>(index)]; }
    void give(Pair pair);
    void take(Pair pair);
};

}  // namespace nearfar
