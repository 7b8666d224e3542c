// y = a x + y, of nearfar-kernels saxpy: y comes back in every iteration and goes out again in the next, so that one transfer that is
// missed or wrong shows for ever. Whole numbers all the way: single precision is exact, and the answer after any number of iterations is
// known.
#pragma once

#include <cstdint>

#include "kernels/problems/own_kernels.h"
#include "kernels/problems/problem.h"

namespace nearfar {

constexpr std::uint64_t most_exact_iterations = std::uint64_t{1} << 19;

class Saxpy : public Problem {
public:
    // Vectors of `bytes` each; `owner` makes their values differ between ranks.
    Saxpy(std::size_t bytes, int owner);

    // How often y was computed, as verify() has to find it.
    void set_iterations(std::uint64_t iterations) { iterations_ = iterations; }

    void fill(void* in, const Team& team) const override;
    Verified verify(const void* in, const void* out, const Team& team) const override;
    void compute_on_host(const void* in, void* out, const Team& team) const override;

private:
    int owner_;
    std::uint64_t iterations_ = 0;
};

}  // namespace nearfar
