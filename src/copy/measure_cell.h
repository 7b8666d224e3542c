// Cells of copies: what measuring one needs, and the ways to measure it.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "cell/policy.h"
#include "cell/results.h"
#include "copy/baselines.h"
#include "copy/chase.h"
#include "engine/rounds.h"
#include "gpu/buffers.h"
#include "gpu/open_gpus.h"
#include "gpu/peer_access.h"
#include "kernels/beside/kernels_beside_copies.h"
#include "node/node.h"
#include "tasks/task_pool.h"

namespace nearfar {

// The node, what was made ready on it, and what is known from cells before.
struct CopySetting {
    const Node& node;
    const std::vector<GpuDevice>& gpus;
    Buffers& buffers;
    PeerAccess& peers;
    TaskPool& tasks;
    OpenGpus& opened;
    Baselines& baselines;
    ChaseBench& chases;
    KernelsBesideCopies& beside;
    int round;                          // of visits, from 0 on
    std::map<int, double> last_used{};  // when the last visit to a cell of each GPU ended
};

// The results of a cell in at most `seconds`: planned, poisoned, measured, verified: one, or one for each of policy.sizes, or as
// below. Throws Prevented or Failure.
std::vector<CellResult> measure_cell(const Cell& cell, const Policy& policy, double seconds, CopySetting& setting);

// All latencies of a lone flow by a copy engine, never mixed, each a result: a tiny copy from its enqueueing to its completion, a load by a
// kernel, and the launch of one. At most `seconds` together, driven by the CPU whose turn it is in this round. Throws Prevented where the cell
// is another.
std::vector<CellResult> measure_latencies(const Cell& cell, const Policy& policy, double seconds, CopySetting& setting);

// `policy.samples` samples, fewer where time is up; throws Prevented where it was interrupted before the first.
Summary take_samples(const Policy& policy, double seconds, const std::function<double()>& sample);

// The tail of a lone flow, because what comes once in a thousand is in no median: the visit's share of `policy.tail` transfers, the time of
// each in microseconds, and when the slowest was. Fewer, and not converged, where `seconds` or half of the time after which a cell hangs are
// over before. Throws Prevented where the cell is another.
std::vector<CellResult> measure_tail(const Cell& cell, const Policy& policy, double seconds, CopySetting& setting);

// Lone flows between GPUs that share no GPU, in one common window, each as a cell of its own. What goes wrong with one is told of it alone;
// the others, whose window it spoilt, have neither result nor trouble. So has a cell that moved nothing beside the others.
std::vector<SetOutcome> measure_peer_set(const std::vector<Cell>& cells, const Policy& policy, double seconds,
                                         CopySetting& setting);

}  // namespace nearfar
