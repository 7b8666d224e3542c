// The measurement document: what every program prints with --json. docs/reference/document.md defines it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cell/measure.h"
#include "node/node.h"
#include "output/json.h"

namespace nearfar {

struct ProgramRun {
    std::string name;
    std::vector<std::string> command;
    std::string started;  // 2026-11-20T09:00:00Z
    double seconds = 0;
    std::string driver;  // versions; empty where there is none
    std::string cuda;
    bool quick = false;                   // --quick
    std::vector<std::string> aggressors;  // cells that ran in the background
    std::string mpi{};
};

// A GPU as the document shows it: what the bus says and what NVML adds.
struct DocumentGpu {
    PciGpu on_bus;
    NvmlGpu management;
    bool visible = true;
};

// What a program has to say beside cells: entries of `results`, and keys of the document itself.
struct MoreOfDocument {
    std::function<void(Json&)> results;
    std::function<void(Json&)> keys;
};

std::string utc_now();
// A summary as the document shows every figure.
void write_rate(Json& json, const Summary& rate, const char* unit);
std::string document(const ProgramRun& run, const Node& node, const std::vector<DocumentGpu>& gpus, const Session& session,
                     const MoreOfDocument& more = {});

}  // namespace nearfar
