// STREAM by one core as what moves beside MPI, where there is no GPU.
#pragma once

#include <vector>

#include "engine/data_mover.h"
#include "kernels/stream_slice.h"
#include "memory/host_memory.h"

namespace nearfar {

class StreamMover : public DataMover {
public:
    // `cell`: one STREAM flow. Memory is allocated, bound and touched here.
    StreamMover(const Node& node, Cell cell);

    const Cell& cell() const override { return cell_; }
    std::size_t chunk(std::size_t flow) const override;
    const std::vector<int>& memory_nodes(std::size_t) const override { return memory_.memory_nodes(); }
    void poison() override {}  // each pump sets its own values
    void pump(std::size_t flow, const std::function<bool()>& stopped, const std::function<void(double)>& complete,
              const std::function<void()>& ready) override;
    void verify(const std::vector<std::size_t>&) override {}  // each pump looks at its own answer

private:
    Cell cell_;
    HostBuffer memory_;
    StreamArrays arrays_;
};

}  // namespace nearfar
