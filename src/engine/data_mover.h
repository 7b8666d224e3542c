// What moves data beside MPI: flows of one task, each driven by a thread of its own. Knows nothing of windows.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "cell/cell.h"

namespace nearfar {

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
    // Moves chunks of a flow from `ready` (which returns when it may begin) until `stopped`; `complete` gets the time of each. Called on
    // the flow's own thread.
    virtual void pump(std::size_t flow, const std::function<bool()>& stopped, const std::function<void(double)>& complete,
                      const std::function<void()>& ready) = 0;
    // Throws Failure where what arrived is wrong; `moved`: the bytes of each flow.
    virtual void verify(const std::vector<std::size_t>& moved) = 0;
};

}  // namespace nearfar
