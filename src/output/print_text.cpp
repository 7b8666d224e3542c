#include "output/print_text.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "core/error.h"

namespace nearfar {
namespace {

namespace fs = std::filesystem;

constexpr int most_links = 40;  // one after the other, as the kernel allows
const std::string beside = ".part";

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

// What symbolic links lead to, whether it is there or not.
fs::path target_of(fs::path file) {
    std::error_code error;
    for (int links = 0; links < most_links && fs::is_symlink(file, error); ++links) {
        const fs::path next = fs::read_symlink(file, error);
        file = next.is_absolute() ? next : file.parent_path() / next;
    }
    return file;
}

WrongUse not_writable(const std::string& file, const std::string& why) {
    return WrongUse("--json=" + file + ": the file cannot be written: " + why);
}

}  // namespace

void require_writable(const std::string& name) {
    if (name.empty()) return;
    const fs::path file = target_of(name);
    const std::string folder = file.has_parent_path() ? file.parent_path().string() : ".";
    std::error_code error;
    const fs::file_status status = fs::status(file, error);
    if (!fs::status_known(status)) throw not_writable(name, error.message());
    if (fs::exists(status) && !fs::is_regular_file(status))
        throw not_writable(name, "it is no regular file; --json alone prints to standard output");
    if (access(folder.c_str(), W_OK | X_OK) != 0) throw not_writable(name, std::strerror(errno));
    const long longest = pathconf(folder.c_str(), _PC_NAME_MAX);
    const std::string part = file.filename().string() + beside;
    if (longest > 0 && part.size() > static_cast<std::size_t>(longest))
        throw not_writable(name, "its name may have " + std::to_string(longest - static_cast<long>(beside.size())) + " letters");
}

void remove_former(const std::string& name) {
    std::error_code error;
    if (!name.empty()) fs::remove(target_of(name), error);
}

void print_text(const std::string& name, const std::string& text) {
    if (name.empty()) return print_to_standard_output(text);
    const std::string file = target_of(name);
    std::ofstream written(file + beside);
    written << text;
    written.close();
    if (!written || std::rename((file + beside).c_str(), file.c_str()) != 0) {
        const std::string why = std::strerror(errno);
        std::remove((file + beside).c_str());
        throw not_writable(name, why);
    }
}

}  // namespace nearfar
