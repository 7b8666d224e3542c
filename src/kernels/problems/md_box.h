// How large the box of the kernel md is.
#pragma once

#include <cstddef>

#include "kernels/problems/own_kernels.h"
#include "kernels/problems/problem.h"

namespace nearfar {

struct MdSides {
    std::size_t x, y, z;  // atoms

    MdBox box() const { return {static_cast<float>(x), static_cast<float>(y), static_cast<float>(z)}; }
};

MdSides md_sides(ProblemSize size);

}  // namespace nearfar
