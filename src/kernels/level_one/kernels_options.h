// The words after nearfar-kernels.
#pragma once

#include <string>
#include <vector>

#include "kernels/level_one/subject.h"
#include "kernels/problems/problem.h"
#include "node/rank_binding.h"
#include "output/common_options.h"

namespace nearfar {

struct KernelsOptions : CommonOptions {
    std::vector<std::string> subjects;  // as given; none: all
    std::vector<std::string> kernels;   // none: all
    std::vector<ProblemSize> sizes{ProblemSize::paper, ProblemSize::today};
    std::vector<Binding> bindings;  // of ranks; none: not given
    bool host_device = false;
    bool even_if_busy = false;
    bool list = false;
    int visits = 0;            // to each kernel; 0: until it was as fast again, from 3 to 8
    double budget = 0;         // seconds after which no further round begins; 0: none
    double hang_seconds = 30;  // without progress
};

// Throws WrongUse.
KernelsOptions parse_kernels_options(int argc, char** argv);

std::string kernels_help();

// A subject with the kernels that are measured on it.
struct SubjectKernels {
    Subject subject;
    std::vector<std::string> kernels;
};

// What is to be measured on this machine, each subject once. Throws WrongUse for what it does not have.
std::vector<SubjectKernels> wanted_kernels(const KernelsOptions& options, const Node& node);

}  // namespace nearfar
