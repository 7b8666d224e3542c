#include "kernels/problems/whole_numbers.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "kernels/problems/numbers.h"

namespace nearfar {

void fill_numbers(std::uint32_t* numbers, std::size_t n, const Team& team) {
    team.each(n, [=](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) numbers[i] = static_cast<std::uint32_t>(mixed(i));
    });
}

void sort_pairs(const std::uint32_t* in, std::uint32_t* out, std::size_t n) {
    std::vector<std::uint32_t> order(n);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [=](std::uint32_t a, std::uint32_t b) { return in[a] < in[b]; });
    for (std::size_t i = 0; i < n; ++i) {
        out[i] = in[order[i]];
        out[n + i] = in[n + order[i]];
    }
}

}  // namespace nearfar
