// What moves data beside MPI, and its threads in one agreed window.
#pragma once

#include <cstddef>
#include <vector>

#include "cell/cell.h"
#include "engine/engine.h"
#include "mpi/agreed_window.h"

namespace nearfar {

// The flows of one rank, each driven by a thread of its own. Knows nothing of windows.
class DataMover {
public:
    DataMover() = default;
    virtual ~DataMover() = default;
    DataMover(const DataMover&) = delete;
    DataMover& operator=(const DataMover&) = delete;

    virtual const Cell& cell() const = 0;
    // Bytes of one chunk of a flow.
    virtual std::size_t chunk(std::size_t flow) const = 0;
    // Where a flow's host pages are, in effect.
    virtual const std::vector<int>& memory_nodes(std::size_t flow) const = 0;
    // Makes sure that nothing right is where data will arrive.
    virtual void poison() = 0;
    // Moves chunks of a flow from the thread's start to its stop.
    virtual void move(std::size_t flow, FlowThread& thread) = 0;
    // Throws Failure where what arrived is wrong.
    virtual void verify() = 0;
};

// Of one flow in one window.
struct MovedFlow {
    double rate = 0;  // GB/s inside the window, edges interpolated
    bool starved = false;
};

class MovingPhase {
public:
    // Poisons, starts a thread for each flow, bound to its CPUs, and waits until all are ready. Throws what poisoning and a thread throw, and
    // std::system_error for a thread that is refused. `polling`: they keep their cores busy and move nothing.
    MovingPhase(DataMover& mover, const std::vector<std::vector<int>>& cpus, bool polling);

    void begin(const AgreedWindow& window);
    // Waits for the threads, looks at the data, and throws what a thread threw.
    std::vector<MovedFlow> finish();

private:
    DataMover& mover_;
    bool polling_;
    AgreedWindow window_;
    Engine engine_;
};

}  // namespace nearfar
