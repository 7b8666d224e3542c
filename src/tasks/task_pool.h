// The processes that are the tasks of /xK: started once, together, for all cells, and given one assignment after the other.
#pragma once

#include <cstddef>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cell/cell.h"
#include "engine/background.h"
#include "tasks/task_process.h"

namespace nearfar {

// The GPUs of a flow, by number, ascending. A task sees them and no others: starting CUDA takes a process the longer the more it
// sees.
using GpuSet = std::vector<int>;
GpuSet gpu_set(const Flow& flow);

// A flow that processes share: each of its tasks needs buffers of so many bytes, and moves chunks.
struct SharedFlow {
    Flow flow;
    std::size_t bytes = 0;
    std::size_t chunk = 0;
};

class TaskPool {
public:
    using Command = std::function<TaskCommand(const GpuSet&)>;
    // `patience`: seconds without a sign of life after which a task hangs.
    TaskPool(Command command, double patience) : command_(std::move(command)), patience_(patience) {}
    ~TaskPool();
    TaskPool(const TaskPool&) = delete;
    TaskPool& operator=(const TaskPool&) = delete;

    // A cell with these flows will be measured; their chunks do not matter yet.
    void plan(const std::vector<SharedFlow>& cell);
    // Starts all processes that the planned cells need; returns at once.
    void start();
    // Lets them open their GPUs. Apart from start(), so that the program can open them first: there may be a limit.
    void open();
    // Waits until all have opened their GPUs. What refuses is told when a cell needs it.
    void await_open();

    // The tasks of each flow of one cell, ready to run. Throws what a task says, or that there are too few.
    std::vector<std::vector<TaskProcess*>> assign(const std::vector<SharedFlow>& cell);
    // No more cells: lets all end, while the program goes on.
    void dismiss();

private:
    // The processes of one set of GPUs.
    struct Crew {
        std::vector<std::size_t> bytes;  // what the first, second … task of a cell needs at most
        std::vector<std::unique_ptr<TaskProcess>> starting;
        std::vector<std::unique_ptr<TaskProcess>> open;
        std::exception_ptr refusal;  // why there are not more
    };
    Command command_;
    double patience_;
    std::map<GpuSet, Crew> crews_;
    std::vector<std::unique_ptr<TaskProcess>> former_;  // dead, or given up

    void start(const GpuSet& gpus, Crew& crew, std::size_t count);
    void forget_dead(Crew& crew);
    void require(const GpuSet& gpus, std::size_t count);
    // Waits until each has given the answer, or this program is interrupted. Returns what each said instead, null for the answer.
    std::vector<std::exception_ptr> await(const std::vector<TaskProcess*>& tasks, const std::string& answer) const;
};

// A flow in the background that another process moves: one task of a shared flow, in a process that `command` starts. `patience`: seconds in which it has to answer.
BackgroundFlow background_process(const SharedFlow& shared, const TaskPool::Command& command, double patience);

}  // namespace nearfar
