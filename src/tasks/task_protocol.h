// What a program and the tasks that it starts say to each other, one line each over one socket:
//
//   the program                    a task
//   open                           opened                        contexts of its GPUs
//   assign FLOW BYTES CHUNK        ready                         buffers, binding, warm-up, poisoned destination
//   go                             t SECONDS, t SECONDS …        when each chunk was complete, on CLOCK_MONOTONIC
//   stop                           t SECONDS …, end              what was under way
//                                  verified BYTES COPIES SEEN    what has arrived is right (fields after tabs)
//   (closed)                       (ends)
//
// In place of any answer a task says "prevented CODE REASON", and is idle again, or "failure CODE REASON", and ends. A task that
// is ready may be assigned anew without having moved.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "cell/cell.h"
#include "cell/measure.h"
#include "core/error.h"
#include "core/message.h"

namespace nearfar::task_word {

constexpr const char* open = "open";
constexpr const char* opened = "opened";
constexpr const char* ready = "ready";
constexpr const char* go = "go";
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

std::string assignment_line(const Assignment& assignment);
// Nothing where the line is no assignment.
std::optional<Assignment> parse_assignment(const std::string& line);

std::string completion_line(double time);
std::optional<double> parse_completion(const std::string& line);

std::string verified_line(const Verified& verified);
// Throws std::invalid_argument where a number is missing.
Verified parse_verified(const Message& line);

std::string trouble_line(const Prevented& why);
std::string trouble_line(const Failure& why);
// Throws what the line tells, with `prefix` before the reason; returns where it tells of no trouble.
void throw_trouble(const std::string& line, const std::string& prefix);

}  // namespace nearfar
