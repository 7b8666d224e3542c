// The tasks of /xK: independent processes that share one flow, as the ranks of a job do.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <vector>

#include "flow/buffers.h"
#include "flow/nvml.h"
#include "flow/together.h"

namespace nearfar {

// A child process that moves chunks of one flow when told to, and tells when each was complete.
class TaskProcess {
public:
    // Starts this same program again for one of `flow.tasks` tasks; returns at once. It sees the flow's GPUs alone: starting CUDA
    // takes a process the longer the more it sees.
    TaskProcess(const Flow& flow, std::size_t chunk, const std::vector<GpuDevice>& gpus);
    ~TaskProcess();
    TaskProcess(TaskProcess&& other) noexcept;
    TaskProcess& operator=(TaskProcess&&) = delete;
    TaskProcess(const TaskProcess&) = delete;
    TaskProcess& operator=(const TaskProcess&) = delete;

    // Waits until the child has everything ready. Throws what went wrong in it.
    void await_ready();
    // One thread of a run_together: passes the child's completions on until the stop, then its verification.
    void run(TogetherTask& task);

    std::size_t chunk() const { return chunk_; }
    const std::string& cpus() const { return cpus_; }

private:
    pid_t child_ = -1;
    int to_child_ = -1;
    int from_child_ = -1;
    std::size_t chunk_;
    std::string cpus_;

    std::string read_line() const;
    [[noreturn]] void rethrow(const std::string& line) const;
};

// The child's side: sets up the one flow, says so, moves while told to. Returns the exit code.
int run_as_task(const Node& node, const Nvml& nvml, const Flow& flow, std::size_t chunk);

// Bytes of a task's own buffers.
std::size_t task_buffer_bytes(int tasks);

}  // namespace nearfar
