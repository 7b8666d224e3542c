#include "tasks/task_protocol.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <sstream>

namespace nearfar {
namespace {

std::string one_line(std::string text) {
    std::replace(text.begin(), text.end(), '\n', ' ');
    return text;
}

}  // namespace

std::string assignment_line(const Assignment& assignment) {
    return "assign " + assignment.flow.text() + " " + std::to_string(assignment.bytes) + " " + std::to_string(assignment.chunk);
}

std::optional<Assignment> parse_assignment(const std::string& line) {
    std::istringstream words(line);
    std::string word;
    std::string flow;
    std::size_t bytes = 0;
    std::size_t chunk = 0;
    if (!(words >> word >> flow >> bytes >> chunk) || word != "assign" || chunk == 0 || chunk > bytes) return {};
    return Assignment{parse_cell(flow).flows[0], bytes, chunk};
}

std::string completion_line(double time) {
    char text[64];
    std::snprintf(text, sizeof text, "t %.9f", time);
    return text;
}

std::optional<double> parse_completion(const std::string& line) {
    if (line.rfind("t ", 0) != 0) return {};
    char* end = nullptr;
    const double time = std::strtod(line.c_str() + 2, &end);
    if (end == line.c_str() + 2 || *end != '\0') return {};
    return time;
}

std::string verified_line(const Verified& verified) {
    return Message{task_word::verified,
                   {std::to_string(verified.bytes), std::to_string(verified.copies), std::to_string(verified.seen)}}
        .line();
}

Verified parse_verified(const Message& line) { return {line.count(0), line.count(1), line.count(2)}; }

std::string trouble_line(const Prevented& why) { return "prevented " + why.code + " " + one_line(why.what()); }

std::string trouble_line(const Failure& why) { return "failure " + why.code + " " + one_line(why.what()); }

void throw_trouble(const std::string& line, const std::string& prefix) {
    std::istringstream words(line);
    std::string kind;
    std::string code;
    std::string reason;
    words >> kind >> code;
    std::getline(words >> std::ws, reason);
    if (kind == "prevented") throw Prevented(code, prefix + reason);
    if (kind == "failure") throw Failure(code, prefix + reason);
}

}  // namespace nearfar
