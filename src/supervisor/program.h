// The program that measures cells, nearfar-copy, from --help to the exit code.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cell/matrix.h"
#include "engine/rounds.h"
#include "output/command_line.h"
#include "output/document.h"

namespace nearfar {

// One run in the process that measures: what it finds, and how it says what it does.
struct Measurement {
    ProgramRun run;
    std::vector<DocumentGpu> gpus;
    Session session;
    Progress progress;
    std::function<void()> end;  // to be called once, when all cells were measured and nothing was taken down yet
};

// What it gets from packages above this one.
struct Program {
    std::string (*help)();
    std::string cuda;                                          // the CUDA that it asks; empty for none
    Matrix (*matrix)(const Node& node, const Policy& policy);  // measured where no cells are given
    void (*measure)(const CommandLine& line, const Node& node, const std::vector<Cell>& cells, Measurement& measurement);
};

int run(const Program& program, const CommandLine& line);

}  // namespace nearfar
