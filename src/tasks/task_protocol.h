// What a program and the tasks that it starts say to each other over one socket: messages, their words and fields.
//
//   the program                    a task
//   open                           opened                        contexts of its GPUs
//   assign FLOW BYTES CHUNK        ready                         buffers, binding, warm-up, poisoned destination
//   go                             chunk SECONDS …               when each chunk was complete, on CLOCK_MONOTONIC
//   stop                           chunk SECONDS …, end          what was under way
//                                  verified BYTES COPIES SEEN    what has arrived is right
//   (closed)                       (ends)
//
// In place of any answer a task tells its trouble (core/trouble.h), and is idle again where measuring was prevented, or ends. A task
// that is ready may be assigned anew without having moved.
#pragma once

#include <cstddef>

#include "cell/cell.h"
#include "cell/results.h"
#include "core/message.h"

namespace nearfar::task_word {

constexpr const char* open = "open";
constexpr const char* opened = "opened";
constexpr const char* assign = "assign";
constexpr const char* ready = "ready";
constexpr const char* go = "go";
constexpr const char* chunk = "chunk";
constexpr const char* stop = "stop";
constexpr const char* end = "end";
constexpr const char* verified = "verified";

}  // namespace nearfar::task_word

namespace nearfar {

// What one task is to move: a flow by one task, in chunks, over buffers of at least so many bytes.
struct Assignment {
    Flow flow;
    std::size_t bytes = 0;
    std::size_t chunk = 0;
};

Message assignment_message(const Assignment& assignment);
// Throws std::invalid_argument or CellError where the message is no assignment.
Assignment assignment_of(const Message& message);

Message verified_message(const Verified& verified);
// Throws std::invalid_argument where a number is missing.
Verified verified_of(const Message& message);

}  // namespace nearfar
