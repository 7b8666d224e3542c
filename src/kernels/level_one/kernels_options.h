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
    bool rate_only = false;  // no transfers
    bool even_if_busy = false;
    int sustain = 0;  // seconds; 0: no
    bool list = false;
    bool absent_fails = false;  // a subject with what this node lacks fails, and the rest is measured
    int visits = 0;             // to each kernel; 0: until it was as fast again, from 2 to 6
    double budget = 0;          // seconds after which no visit begins, or with ranks no further round; 0: none
};

// Throws WrongUse.
KernelsOptions parse_kernels_options(int argc, char** argv);

std::string kernels_help();

// A subject with the kernels that are measured on it.
struct SubjectKernels {
    Subject subject;
    std::vector<std::string> kernels;
};

// What is to be measured on this machine, each subject once. What it does not have is in `absent`, as it was given with the reason, or wrong
// use, as the options say.
std::vector<SubjectKernels> wanted_kernels(const KernelsOptions& options, const Node& node, std::vector<NotMeasured>& absent);

}  // namespace nearfar
