// A flow in the background that another process moves.
#pragma once

#include "engine/background.h"
#include "tasks/task_pool.h"

namespace nearfar {

// One task of a shared flow, in a process that `command` starts. `patience`: seconds in which it has to answer.
BackgroundFlow background_process(const SharedFlow& shared, const TaskPool::Command& command, double patience);

}  // namespace nearfar
