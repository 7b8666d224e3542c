// STREAM by one core as what moves beside MPI, where there is no GPU.
#pragma once

#include <vector>

#include "kernels/stream/stream_slice.h"
#include "memory/host_memory.h"
#include "mpi/contention/data_mover.h"

namespace nearfar {

class StreamMover : public DataMover {
public:
    // `cell`: one STREAM flow. Memory is allocated, bound and touched here.
    StreamMover(const Node& node, Cell cell);

    const Cell& cell() const override { return cell_; }
    std::size_t chunk(std::size_t flow) const override;
    const std::vector<int>& memory_nodes(std::size_t) const override { return memory_.memory_nodes(); }
    void poison() override {}  // each move sets its own values
    void move(std::size_t flow, FlowThread& thread) override;
    void verify() override {}  // each move looks at its own answer

private:
    Cell cell_;
    HostBuffer memory_;
    StreamArrays arrays_;
};

}  // namespace nearfar
