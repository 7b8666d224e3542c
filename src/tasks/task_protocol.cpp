#include "tasks/task_protocol.h"

#include <stdexcept>

namespace nearfar {

Message assignment_message(const Assignment& assignment) {
    return {task_word::assign, {assignment.flow.text(), std::to_string(assignment.bytes), std::to_string(assignment.chunk)}};
}

Assignment assignment_of(const Message& message) {
    const Assignment assignment{parse_cell(message.field(0)).flows[0], message.count(1), message.count(2)};
    if (assignment.chunk == 0 || assignment.chunk > assignment.bytes) throw std::invalid_argument("chunks that do not fit");
    return assignment;
}

Message verified_message(const Verified& verified) {
    return {task_word::verified,
            {std::to_string(verified.bytes), std::to_string(verified.copies), std::to_string(verified.seen)}};
}

Verified verified_of(const Message& message) { return {message.count(0), message.count(1), message.count(2)}; }

}  // namespace nearfar
