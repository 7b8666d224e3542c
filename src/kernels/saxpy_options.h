// The words after nearfar-saxpy.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "node/rank_binding.h"

namespace nearfar {

struct SaxpyOptions {
    std::vector<std::string> words;  // as given, for the document
    bool host_device = false;        // host memory in the place of the GPUs'
    std::vector<Binding> bindings{Binding::launcher, Binding::gpu};
    std::size_t bytes = std::size_t{64} << 20;  // of each of the two vectors of a rank
    int iterations = 20;                        // in a round
    int rounds = 0;                             // of each binding; 0: until the figures are known well enough
    int threads = 1;                            // of the kernel in host memory
    double budget = 20;                         // seconds after which no further round begins
    double hang_seconds = 30;                   // without progress
    bool oversubscribe = false;                 // more ranks than cores
    bool even_if_busy = false;
    std::vector<std::string> gpus;  // PCI addresses of g0, g1 …; none: as found
    bool json = false;
    std::string json_file;  // empty: standard output
    bool help = false;
    bool version = false;
};

// Throws WrongUse.
SaxpyOptions parse_saxpy_options(int argc, char** argv);

extern const char* const saxpy_help;

}  // namespace nearfar
