// A process of its own looks after the one that measures, so that every end leaves a whole document.
//
//   front        the process that was started: forwards signals, ends with the run's exit code
//   supervisor   a session of its own, so that whoever ends the front's group does not end it: keeps what was told, prints it
//   measuring    CUDA, MPI and threads: tells each finished cell, and may hang, abort or be killed
//
// A measuring process that ends before its end is told of with the cell that was under way; a new one measures the rest.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "output/common_options.h"
#include "output/document.h"
#include "supervisor/teller.h"

namespace nearfar {

struct Supervised {
    ProgramRun run;
    bool json = false;
    std::string file;          // of the document; empty: standard output
    bool with_gpus = false;    // the driver is asked who else is on the GPUs
    double hang_seconds = 30;  // set-up may take twice as long
    bool collective = false;   // a rank of several: it ends when another one does, and nothing goes on in a new process
    // Ranks of this host that are there no more, in words, before the measuring process has told of any; empty: none is known.
    std::function<std::string(pid_t front)> missing_ranks;
};

// A run as its options say; not collective, with GPUs where the program was built for them.
Supervised supervised(const ProgramRun& run, const CommonOptions& options);

// What a process that ended before has left: cells or other subjects, as they were told, and which PCI devices g0, g1 … are.
struct Rest {
    std::vector<std::string> cells;
    std::vector<std::string> gpus;
};

// Measures and tells. `rest`: null: everything. `gone`: seconds since the run began. Throws as all measuring does.
using Measure = std::function<void(Teller& teller, const Rest* rest, double gone)>;

// Runs `measure` in a process of its own; call it before CUDA, MPI or a thread is started. Returns the exit code, with the document
// or the table printed. Throws WrongUse where the document's file cannot be written.
int supervise(const Supervised& how, const Measure& measure);

// Runs a program's body and turns what it throws into one line on standard error, where it is the one that `says` it, and exit code 2.
int run_program(const std::string& name, bool says, const std::function<int()>& body);

}  // namespace nearfar
