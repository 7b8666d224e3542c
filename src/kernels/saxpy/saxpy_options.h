// The words after `nearfar-kernels saxpy`.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "node/rank_binding.h"
#include "output/common_options.h"

namespace nearfar {

struct SaxpyOptions : CommonOptions {
    bool host_device = false;  // host memory in the place of the GPUs'
    std::vector<Binding> bindings{Binding::launcher, Binding::gpu};
    std::size_t bytes = std::size_t{64} << 20;  // of each of the two vectors of a rank
    int iterations = 20;                        // in a round
    int rounds = 0;                             // of each binding; 0: until the figures are known well enough
    double budget = 20;                         // seconds after which no further round begins
    bool oversubscribe = false;                 // more ranks than cores
    bool even_if_busy = false;
};

// The word that asks for it, the first after the program.
constexpr const char* saxpy_word = "saxpy";

// Of all words, the program's name and `saxpy` first. Throws WrongUse.
SaxpyOptions parse_saxpy_options(int argc, char** argv);

std::string saxpy_help();

}  // namespace nearfar
