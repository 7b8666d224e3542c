// Measures copies, and STREAM by GPUs, on this machine's GPUs.
#pragma once

#include <functional>
#include <future>
#include <string>
#include <vector>

#include "cell/policy.h"
#include "cell/results.h"
#include "copy/measure_cell.h"
#include "engine/rounds.h"
#include "gpu/open_gpus.h"
#include "node/node.h"

namespace nearfar {

class CopyBench {
public:
    // Starts CUDA for these cells, which measure() measures, and makes the arrays of STREAM by cores meanwhile.
    CopyBench(const Node& node, const Policy& policy, const std::vector<Cell>& cells);

    const OpenGpus& gpus() const { return gpus_; }

    // Measures the cells in rounds into `session`: what cannot be measured is skipped or failed with its reason, and the rest goes on. `end`
    // is called when all were, before anything is taken down.
    void measure(Session& session, const Progress& progress, const std::function<void()>& end);

private:
    const Node& node_;
    const Policy policy_;
    std::vector<Cell> cells_;
    std::vector<std::string> environment_;  // before CUDA starts
    StreamMovers stream_;
    std::future<void> arrays_;  // of stream_, while they are made
    OpenGpus gpus_;
    TaskPool tasks_;

    void set_up(Buffers& buffers, KernelsBesideCopies& beside, Session& session);
    void plan(const Cell& cell, Buffers& buffers);
    // In one window, each for itself. Where several lose their GPUs and CUDA ends with them, no cell has an answer.
    std::vector<SetOutcome> measure_together(const std::vector<Cell>& cells, const Policy& policy, double seconds,
                                             CopySetting& setting, Session& session);
    bool is_usable(const Flow& flow) const;
};

}  // namespace nearfar
