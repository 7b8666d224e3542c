// A task's own side: does what it is told over the socket on its standard input, until that closes.
#pragma once

#include <functional>

#include "core/line_channel.h"
#include "tasks/task_protocol.h"

namespace nearfar {

// What a task can do. Every function may throw Prevented, after which the task is idle, or Failure, after which it ends.
class TaskWork {
public:
    virtual ~TaskWork() = default;
    virtual void open() = 0;
    // Makes everything ready to move; what an earlier assignment left may be used again.
    virtual void set_up(const Assignment& assignment) = 0;
    // Moves chunks until `stopped`; `complete` gets the time of each.
    virtual void move(const std::function<bool()>& stopped, const std::function<void(double)>& complete) = 0;
    // Says what was compared; throws where what arrived is not what was sent.
    virtual Verified verify() = 0;
};

// Serves until the other side closes (returns 0) or something fails (1).
int serve(LineChannel& program, TaskWork& work);

// Ends this process as soon as the other side of its standard input closes, whatever its threads do: a program may die at any
// time, and a task may hang in a driver.
void end_with_program();

}  // namespace nearfar
