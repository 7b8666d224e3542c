#include "supervisor/words.h"

#include <poll.h>
#include <unistd.h>

#include <climits>
#include <string_view>

namespace nearfar {
namespace {

constexpr int a_moment = 200;  // milliseconds
constexpr const char* line_is_empty = "\r\033[K";

// A pipe that is ready takes so much at once.
void write_to_standard_error(std::string_view text) {
    static bool taken = true;  // what was said before
    while (!text.empty()) {
        pollfd poller{STDERR_FILENO, POLLOUT, 0};
        taken = poll(&poller, 1, taken ? a_moment : 0) > 0;
        if (!taken) return;
        const ssize_t written = write(STDERR_FILENO, text.data(), text.size() < PIPE_BUF ? text.size() : PIPE_BUF);
        if (written <= 0) return;
        text.remove_prefix(static_cast<std::size_t>(written));
    }
}

bool is_terminal() { return isatty(STDERR_FILENO) != 0; }

}  // namespace

void say(const std::string& name, const std::string& words) { write_to_standard_error(name + ": " + words + "\n"); }

void print_progress(std::size_t position, std::size_t count, const std::string& words) {
    const std::string line = std::to_string(position + 1) + "/" + std::to_string(count) + " " + words;
    write_to_standard_error(is_terminal() ? line_is_empty + line : line + "\n");
}

void end_progress() {
    if (is_terminal()) write_to_standard_error(line_is_empty);
}

}  // namespace nearfar
