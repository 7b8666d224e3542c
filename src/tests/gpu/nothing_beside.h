// For cells of copies alone.
#pragma once

#include "copy/beside_copies.h"
#include "core/error.h"

namespace nearfar {

struct NothingBeside : BesideCopies {
    void set_up(const std::vector<Flow>&) override {}
    MovingFlow of(const Flow& flow, std::size_t) override { throw WrongUse(flow.text() + " is no copy"); }
};

}  // namespace nearfar
