// What a rank moves beside MPI, and its threads in one agreed window.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cell/cell.h"
#include "engine/checked_run.h"
#include "mpi/agreed_window.h"
#include "node/node.h"

namespace nearfar {

// The flows of one rank's cell, each driven by a thread of its own.
struct DataMovers {
    std::shared_ptr<void> memory;                // that they use, with all that goes with it
    std::vector<Mover> flows;                    // each chunk of work is one of bytes
    std::vector<std::vector<int>> memory_nodes;  // where each flow's host pages are, in effect
};

// Copies between a GPU and host memory. Starts CUDA for the cell's GPU alone, allocates, registers and warms up. `cpus`: of each flow's
// thread. Throws Prevented or Failure with the reason why it cannot be measured; a build without CUDA throws Prevented.
DataMovers copy_movers(const Node& node, const Cell& cell, const std::vector<std::vector<int>>& cpus, bool even_if_busy);

// STREAM by one core, where there is no GPU. `cell`: one flow. Memory is allocated, bound and touched here.
DataMovers stream_movers(const Node& node, const Cell& cell, const std::vector<std::vector<int>>& cpus);

// The CUDA that the program was built with ("12.4"); empty: none.
std::string mover_cuda_version();

// Of one flow in one window.
struct MovedFlow {
    double rate = 0;  // GB/s inside the window, edges interpolated
    bool starved = false;
};

class MovingPhase {
public:
    // Poisons, starts a thread for each flow, and waits until all are ready. Throws what poisoning and a thread throw, and std::system_error for
    // a thread that is refused. `polling`: they keep their cores busy and move nothing.
    MovingPhase(const std::vector<Mover>& movers, bool polling);

    void begin(const AgreedWindow& window);
    // Waits for the threads, looks at the data, and throws what a thread threw.
    std::vector<MovedFlow> finish();

private:
    const std::vector<Mover>& movers_;
    bool polling_;
    AgreedWindow window_;
    Engine engine_;
};

}  // namespace nearfar
