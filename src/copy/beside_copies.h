// What runs in a window beside copies and is none of them: STREAM by cores, matrix products of a GPU. This room knows no kernels;
// kernels/beside/ makes them.
#pragma once

#include <vector>

#include "cell/cell.h"
#include "engine/checked_run.h"

namespace nearfar {

class BesideCopies {
public:
    virtual ~BesideCopies() = default;

    // Makes memory and libraries ready for these flows; GPUs are open. What cannot be had is told when its flow is asked for.
    virtual void set_up(const std::vector<Flow>& flows) = 0;
    // Such a flow that is the cell's `index`th. Throws why it cannot run.
    virtual MovingFlow of(const Flow& flow, std::size_t index) = 0;

protected:
    BesideCopies() = default;
    BesideCopies(const BesideCopies&) = default;
    BesideCopies& operator=(const BesideCopies&) = default;
};

}  // namespace nearfar
