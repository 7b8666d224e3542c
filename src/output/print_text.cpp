#include "output/print_text.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string_view>

#include "core/error.h"

namespace nearfar {

namespace {

// Whatever interrupts it, and where the other side does not want to wait.
void print_to_standard_output(std::string_view text) {
    while (!text.empty()) {
        const ssize_t written = write(STDOUT_FILENO, text.data(), text.size());
        if (written > 0) {
            text.remove_prefix(static_cast<std::size_t>(written));
        } else if (written < 0 && errno == EAGAIN) {
            pollfd poller{STDOUT_FILENO, POLLOUT, 0};
            poll(&poller, 1, -1);
        } else if (written == 0 || errno != EINTR) {
            throw WrongUse(std::string("standard output cannot be written: ") + std::strerror(errno));
        }
    }
}

}  // namespace

void print_text(const std::string& file, const std::string& text) {
    if (file.empty()) return print_to_standard_output(text);
    const std::string beside = file + ".part";
    std::ofstream written(beside);
    written << text;
    written.close();
    if (!written || std::rename(beside.c_str(), file.c_str()) != 0) {
        const std::string why = std::strerror(errno);
        std::remove(beside.c_str());
        throw WrongUse("--json=" + file + ": the file cannot be written: " + why);
    }
}

}  // namespace nearfar
