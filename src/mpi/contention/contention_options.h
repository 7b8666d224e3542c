// The command line of nearfar-contention.
#pragma once

#include <string>
#include <vector>

#include "mpi/contention/contention_plan.h"
#include "mpi/contention/message_traffic.h"
#include "output/common_options.h"

namespace nearfar {

struct ContentionOptions : CommonOptions {
    ContentionAsk ask;
    std::vector<Traffic> traffics;
    std::size_t most_rounds = 14;
    double window = 0.2;  // seconds that count
    bool even_if_busy = false;
    bool mpi_only = false;
    bool list = false;
};

// Throws WrongUse.
ContentionOptions parse_contention_options(int argc, char** argv);

std::string contention_help();

}  // namespace nearfar
