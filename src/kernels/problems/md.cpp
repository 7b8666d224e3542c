// md: Lennard-Jones forces of 128 neighbours on each of n atoms, single precision, and double (dmd). In: atoms (four numbers each), neighbours (the first of
// every atom, then the second …); out: forces (four numbers each). Atoms stand near the points of a periodic lattice, and i is a neighbour
// of j where j is one of i: the forces of all sum to zero.
#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/problems/md_box.h"
#include "kernels/problems/numbers.h"
#include "kernels/problems/own_kernels.h"
#include "kernels/problems/problem.h"

namespace nearfar {
namespace {

constexpr double jitter = 0.2;           // of a lattice constant, from side to side
constexpr double flops_of_a_pair = 8;    // as SHOC counts: of every distance, and ...
constexpr double flops_of_a_force = 13;  // ... where it is within the cut-off, of the force
constexpr double within_cutoff = 84.4;   // of an atom's neighbours, on average
constexpr std::size_t looked_at = 1024;  // atoms, at least, whose force is computed again
constexpr double tolerance = 1e-4;       // of a force, relative to the mean of all
constexpr double sum_tolerance = 0.02;   // of the sum of all, likewise: rounding alone leaves a tenth of it

using Offset = std::array<int, 3>;

// The nearest 128 points of a lattice around one, each with the one opposite.
std::vector<Offset> nearest_points() {
    std::vector<Offset> half;
    constexpr int reach = 4;
    for (int x = -reach; x <= reach; ++x)
        for (int y = -reach; y <= reach; ++y)
            for (int z = -reach; z <= reach; ++z)
                if (Offset{x, y, z} > Offset{0, 0, 0}) half.push_back({x, y, z});
    const auto squared = [](const Offset& o) { return o[0] * o[0] + o[1] * o[1] + o[2] * o[2]; };
    std::stable_sort(half.begin(), half.end(), [&](const Offset& a, const Offset& b) { return squared(a) < squared(b); });
    half.resize(md_neighbours / 2);
    std::vector<Offset> all;
    for (const Offset& o : half) {
        all.push_back(o);
        all.push_back({-o[0], -o[1], -o[2]});
    }
    return all;
}

template <typename Real>
class Md : public Problem {
    using Atom = MdAtom<Real>;

public:
    Md(const ProblemShape& shape, MdSides sides) : Problem(shape), sides_(sides) {}

    void fill(void* in, const Team& team) const override {
        const std::size_t n = this->shape().n;
        auto* const atoms = static_cast<Atom*>(in);
        int* const list = reinterpret_cast<int*>(atoms + n);
        const std::vector<Offset> offsets = nearest_points();
        team.each(n, [&, atoms, list](std::size_t begin, std::size_t end) {
            for (std::size_t i = begin; i < end; ++i) {
                const std::size_t x = i % sides_.x;
                const std::size_t y = i / sides_.x % sides_.y;
                const std::size_t z = i / sides_.x / sides_.y;
                atoms[i] = {place(x, 3 * i), place(y, 3 * i + 1), place(z, 3 * i + 2), 0};
                for (std::size_t k = 0; k < md_neighbours; ++k)
                    list[k * n + i] = static_cast<int>(
                        wrapped(x, offsets[k][0], sides_.x) +
                        sides_.x * (wrapped(y, offsets[k][1], sides_.y) + sides_.y * wrapped(z, offsets[k][2], sides_.z)));
            }
        });
    }

    Verified verify(const void* in, const void* out, const Team& team) const override {
        const std::size_t n = this->shape().n;
        const auto* const atoms = static_cast<const Atom*>(in);
        const int* const list = reinterpret_cast<const int*>(atoms + n);
        const auto* const forces = static_cast<const Atom*>(out);
        Force<double> sum{0, 0, 0};
        double lengths = 0;
        for (std::size_t i = 0; i < n; ++i) {
            const Atom& force = forces[i];
            sum = {sum.x + force.x, sum.y + force.y, sum.z + force.z};
            lengths += std::hypot(force.x, force.y, force.z);
        }
        const double mean = lengths / static_cast<double>(n);
        const double left = std::hypot(sum.x, sum.y, sum.z);
        if (!(left <= sum_tolerance * mean))
            fail("forces do not sum to zero, but to " + std::to_string(left / mean) + " times one");
        const std::size_t step = std::max<std::size_t>(1, n / looked_at);
        const std::size_t wrong = team.count_if(n / step, [&](std::size_t k) {
            const std::size_t i = k * step;
            const Force<double> right = lennard_jones<double>(atoms, list, n, sides_.box(), i);
            const double off = std::hypot(forces[i].x - right.x, forces[i].y - right.y, forces[i].z - right.z);
            return !(off <= tolerance * std::max(mean, std::hypot(right.x, right.y, right.z)));
        });
        if (wrong > 0)
            fail(std::to_string(wrong) + " of " + std::to_string(n / step) + " forces that were computed again are wrong");
        return all_verified();
    }

    void compute_on_host(const void* in, void* out, const Team& team) const override {
        const std::size_t n = this->shape().n;
        const auto* const atoms = static_cast<const Atom*>(in);
        const int* const list = reinterpret_cast<const int*>(atoms + n);
        auto* const forces = static_cast<Atom*>(out);
        team.each(n, [=, box = sides_.box()](std::size_t begin, std::size_t end) {
            for (std::size_t i = begin; i < end; ++i) {
                const Force<Real> force = lennard_jones<Real>(atoms, list, n, box, i);
                forces[i] = {force.x, force.y, force.z, 0};
            }
        });
    }

private:
    MdSides sides_;

    static Real place(std::size_t point, std::size_t which) {
        return static_cast<Real>(static_cast<double>(point) + jitter * unit_value(which));
    }
    static std::size_t wrapped(std::size_t point, int offset, std::size_t side) {
        return (point + side + static_cast<std::size_t>(static_cast<std::ptrdiff_t>(offset))) % side;
    }
};

}  // namespace

MdSides md_sides(ProblemSize size) {
    switch (size) {
        case ProblemSize::paper: return {48, 48, 32};
        case ProblemSize::today: return {80, 80, 80};
        default: return {10, 10, 10};
    }
}

std::unique_ptr<Problem> make_md(const std::string& kernel, ProblemSize size) {
    const MdSides sides = md_sides(size);
    ProblemShape shape{kernel, size};
    shape.n = sides.x * sides.y * sides.z;
    const std::size_t atom = kernel == "dmd" ? sizeof(MdAtom<double>) : sizeof(MdAtom<float>);
    shape.in_bytes = shape.n * (atom + md_neighbours * sizeof(int));
    shape.out_bytes = shape.n * atom;
    shape.operations =
        (flops_of_a_pair * static_cast<double>(md_neighbours) + flops_of_a_force * within_cutoff) * static_cast<double>(shape.n);
    shape.counted = shape.operations;
    if (kernel == "dmd") return std::make_unique<Md<double>>(shape, sides);
    return std::make_unique<Md<float>>(shape, sides);
}

}  // namespace nearfar
