// What the kernels of one's own compute for one element, the same on GPU and CPU.
#pragma once

#include <cmath>
#include <cstddef>

#include "memory/pattern.h"

namespace nearfar {

constexpr float saxpy_a = 2;
NEARFAR_BOTH inline float saxpy_of(float x, float y) { return saxpy_a * x + y; }

NEARFAR_BOTH inline float triad_of(float a, float b) { return a + 3.0F * b; }

// Of an n × n field, row by row, beyond whose border all is nought: the mean of nine points weighted 4, 2 and 1.
NEARFAR_BOTH inline float nine_points(const float* field, std::size_t n, std::size_t row, std::size_t column) {
    const auto at = [&](std::size_t i, std::size_t j) { return i < n && j < n ? field[i * n + j] : 0.0F; };
    const float corners = at(row - 1, column - 1) + at(row - 1, column + 1) + at(row + 1, column - 1) + at(row + 1, column + 1);
    const float sides = at(row - 1, column) + at(row + 1, column) + at(row, column - 1) + at(row, column + 1);
    return 0.25F * field[row * n + column] + 0.125F * sides + 0.0625F * corners;
}

constexpr std::size_t md_neighbours = 128;       // of each atom
constexpr double md_cutoff_squared = 2.8 * 2.8;  // in lattice constants

// A periodic box of atoms, its sides in lattice constants.
struct MdBox {
    float x, y, z;
};

template <typename Real>
struct MdAtom {
    Real x, y, z, w;  // w is not used: 16 bytes are one load, 32 two
};

template <typename Real>
struct Force {
    Real x, y, z;
};

template <typename Real>
NEARFAR_BOTH inline Real nearest_image(Real distance, Real side, Real of_side) {
    using std::rint;
    return distance - side * rint(distance * of_side);
}

// Lennard-Jones (1.5, 2 and a cut-off) of all neighbours on atom i, summed in this order; `list` holds the
// first neighbour of every atom, then the second.
template <typename Real, typename Stored>
NEARFAR_BOTH inline Force<Real> lennard_jones(const MdAtom<Stored>* atoms, const int* list, std::size_t n, MdBox box,
                                              std::size_t i) {
    const Real of_r12 = 1.5;
    const Real of_r6 = 2;
    const MdAtom<Stored> mine = atoms[i];
    const Force<Real> sides{box.x, box.y, box.z};
    const Force<Real> of_side{1 / sides.x, 1 / sides.y, 1 / sides.z};
    Force<Real> sum{0, 0, 0};
    for (std::size_t k = 0; k < md_neighbours; ++k) {
        const MdAtom<Stored> other = atoms[list[k * n + i]];
        const Real x = nearest_image<Real>(static_cast<Real>(mine.x) - static_cast<Real>(other.x), sides.x, of_side.x);
        const Real y = nearest_image<Real>(static_cast<Real>(mine.y) - static_cast<Real>(other.y), sides.y, of_side.y);
        const Real z = nearest_image<Real>(static_cast<Real>(mine.z) - static_cast<Real>(other.z), sides.z, of_side.z);
        const Real squared = x * x + y * y + z * z;
        if (squared >= static_cast<Real>(md_cutoff_squared)) continue;
        const Real r2 = 1 / squared;
        const Real r6 = r2 * r2 * r2;
        const Real force = r2 * r6 * (of_r12 * r6 - of_r6);
        sum.x += x * force;
        sum.y += y * force;
        sum.z += z * force;
    }
    return sum;
}

}  // namespace nearfar
