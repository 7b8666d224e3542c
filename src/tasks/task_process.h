// One task of /xK as the program sees it: an independent process that moves its part of a flow, as a rank of a job does.
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

#include "core/line_channel.h"
#include "engine/engine.h"
#include "supervisor/process_end.h"
#include "tasks/task_protocol.h"

namespace nearfar {

struct TaskCommand {
    std::string name;  // in what is said of it: "a task on g0"
    std::string program;
    std::vector<std::string> words;  // the program's own name first
    std::vector<std::string> environment;
    std::vector<int> cpus;  // where it may run; empty: where the thread that starts it may
};

class TaskProcess {
public:
    // Starts the process and returns at once. `patience`: seconds in which it must answer once it has to. Throws Prevented where a
    // limit forbids another process, and Failure.
    TaskProcess(const TaskCommand& command, double patience);
    ~TaskProcess();
    TaskProcess(const TaskProcess&) = delete;
    TaskProcess& operator=(const TaskProcess&) = delete;

    pid_t pid() const { return child_; }
    // Neither dead nor given up: it can be told to do something.
    bool is_alive() const { return alive_; }

    void tell(const Message& message) const { channel_.send(message.line()); }
    // True once it has given the answer `wanted`, false as long as it says nothing. Throws what it says instead, or that it ended.
    bool has_answered(const std::string& wanted);
    // What it has compared after the last move.
    const Verified& verified() const { return verified_; }
    // Ends it, because it does not answer; throws that.
    [[noreturn]] void give_up();

    // As a thread of an engine: lets it move from the start to the stop, and waits for its verification.
    void run(FlowThread& thread);

    // Lets it end; returns at once.
    void dismiss();
    // True when it is no more.
    bool has_ended();
    void kill() const;
    // Dismisses all, waits until they are no more, and kills those that stay. One that hangs in the driver cannot be killed: it is left,
    // and said to be, after seconds.
    static void end(const std::vector<TaskProcess*>& tasks);

private:
    std::string name_;
    double patience_;
    pid_t child_ = -1;
    LineChannel channel_;
    bool alive_ = true;
    int status_ = 0;
    Verified verified_;
    MemoryKills memory_kills_;

    TaskProcess(const TaskCommand& command, double patience, std::pair<int, int> sockets);
    [[noreturn]] void mourn(const std::string& when);
    // False where nothing comes in time. Throws what it tells that went wrong, or that it ended, and `when`.
    bool hear(Message& said, double seconds, const std::string& when);
    double time_of(const Message& said);
    [[noreturn]] void misheard(const Message& said);
    std::string how_it_ended();
};

}  // namespace nearfar
