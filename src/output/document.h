// The measurement document: what every program prints with --json. docs/reference/document.md defines it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cell/results.h"
#include "node/node.h"
#include "output/json.h"

namespace nearfar {

struct ProgramRun {
    std::string name;
    std::vector<std::string> command;
    std::string started;  // 2026-11-20T09:00:00Z
    std::string driver;   // versions; empty where there is none
    std::string cuda;
    bool quick = false;                   // --quick
    std::vector<std::string> aggressors;  // cells that ran in the background
    std::string mpi{};
    std::map<std::string, std::string> libraries{};     // of CUDA, by name: "cublas"
    std::map<std::string, std::string> tensor_modes{};  // variables of the environment that switch them
};

// A GPU as the document shows it: what the bus says and what NVML adds.
struct DocumentGpu {
    PciGpu on_bus;
    NvmlGpu management;
    bool visible = true;
};

std::string utc_now();

// The first keys of a document, of which `seconds` is the whole run's.
void begin_document(Json& json, const ProgramRun& run, double seconds);

// Pieces of a document, each one object or array.
std::string node_json(const ProgramRun& run, const Node& node, const std::vector<DocumentGpu>& gpus);
// `began`: when the run began, on CLOCK_MONOTONIC; visits are told by their distance from it.
std::string result_json(const CellResult& result, double began = 0);
std::string under_load_json(const GpuUnderLoad& gpu);
std::string curve_json(const SizeCurve& curve);
std::string mpi_json(const MpiFacts& mpi);

// A summary as the document shows every figure.
void write_rate(Json& json, const Summary& rate, const char* unit);

}  // namespace nearfar
