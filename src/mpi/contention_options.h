// The command line of nearfar-contention.
#pragma once

#include <string>
#include <vector>

#include "mpi/contention_plan.h"
#include "mpi/message_traffic.h"

namespace nearfar {

struct ContentionOptions {
    std::vector<std::string> words;  // as given, for the document
    ContentionAsk ask;
    std::vector<Traffic> traffics;
    std::vector<std::string> gpus;  // PCI addresses of g0, g1 …; none: as found
    std::size_t most_rounds = 14;
    double window = 0.2;         // seconds that count
    double hang_seconds = 30.0;  // of set-up, or beyond a window
    bool even_if_busy = false;
    bool list = false;
    bool help = false;
    bool version = false;
    bool json = false;
    std::string json_file;  // empty: standard output
};

// Throws WrongUse.
ContentionOptions parse_contention_options(int argc, char** argv);

extern const char* const contention_help;

}  // namespace nearfar
