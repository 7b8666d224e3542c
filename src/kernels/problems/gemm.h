// Products of matrices, C = A B of n × n, wherever they are computed and checked. By Freivalds' method: for a vector x, C x must be A (B x),
// which takes n² steps in the place of n³.
//
// Of whole numbers (whole_value) every sum is exact in whatever order it is taken, and a single element that is off by anything shows. On the
// GPU: kernels/gpu_compute/product_check.h.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "kernels/problems/numbers.h"
#include "kernels/problems/problem.h"

namespace nearfar {

struct Bf16 {
    std::uint16_t bits;
};

NEARFAR_BOTH inline double number(float value) { return value; }
NEARFAR_BOTH inline double number(double value) { return value; }
NEARFAR_BOTH inline double number(Bf16 value) {
    const std::uint32_t bits = static_cast<std::uint32_t>(value.bits) << 16;
    float single = 0;
    std::memcpy(&single, &bits, sizeof single);
    return single;
}

NEARFAR_BOTH inline void set(float& to, double value) { to = static_cast<float>(value); }
NEARFAR_BOTH inline void set(double& to, double value) { to = value; }
NEARFAR_BOTH inline void set(Bf16& to, double value) {  // the rest is cut off
    const auto single = static_cast<float>(value);
    std::uint32_t bits = 0;
    std::memcpy(&bits, &single, sizeof bits);
    to.bits = static_cast<std::uint16_t>(bits >> 16);
}

enum class Operands {
    fractions,  // as those of other kernels: they cost a GPU the power that an application's do
    whole       // the product is exact
};

constexpr std::uint64_t largest_whole = 8;

NEARFAR_BOTH inline double operand(Operands operands, std::uint64_t i) {
    return operands == Operands::whole ? whole_value(i, largest_whole) : unit_value(i);
}

// An element of a product as it is summed: a NaN where it has to be whole and is not.
NEARFAR_BOTH inline double summand(Operands operands, double element) {
    return operands == Operands::whole && element != rint(element) ? NAN : element;
}

// The vector x: of fractions its elements are ±1, or else rounding would weigh differently from row to row.
std::vector<double> product_weights(Operands operands, std::size_t n);

// Throws Failure (wrong_data) where a row of C x is not that of A (B x): of fractions within what is rounding.
void require_product(const ProblemShape& shape, Operands operands, const std::vector<double>& found,
                     const std::vector<double>& right);

// Variables of the environment that switch how CUDA's libraries use tensor cores, and so what a figure of theirs means: those that are set, with
// their values: NVIDIA_TF32_OVERRIDE and all that begin with CUBLAS_.
std::map<std::string, std::string> tensor_modes();

}  // namespace nearfar
