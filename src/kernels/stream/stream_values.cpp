#include "kernels/stream/stream_values.h"

namespace nearfar {
namespace {

double sum_of_first(Kernel kernel, std::size_t words) {
    double sum = 0;
    for (std::size_t i = 0; i < words; ++i) sum += value_of_a(i) * (kernel == Kernel::dot ? value_of_b(i) : 1);
    return sum;
}

}  // namespace

double sum_of_pass(Kernel kernel, std::size_t words) {
    constexpr std::size_t period = period_of_a * period_of_b;
    const std::size_t periods = words / period;
    return static_cast<double>(periods) * sum_of_first(kernel, period) + sum_of_first(kernel, words % period);
}

}  // namespace nearfar
