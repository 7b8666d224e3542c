#include "output/last_word.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <exception>

#include "core/error.h"

namespace nearfar {
namespace {

constexpr char kept = 'k';
constexpr char said = 's';
constexpr char silent = 'q';

bool write_all(int pipe, const void* data, std::size_t size) {
    const char* at = static_cast<const char*>(data);
    while (size > 0) {
        const ssize_t count = write(pipe, at, size);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return false;
        at += count;
        size -= static_cast<std::size_t>(count);
    }
    return true;
}

bool read_all(int pipe, void* data, std::size_t size) {
    char* at = static_cast<char*>(data);
    while (size > 0) {
        const ssize_t count = read(pipe, at, size);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return false;
        at += count;
        size -= static_cast<std::size_t>(count);
    }
    return true;
}

bool read_text(int pipe, std::string& text) {
    std::uint64_t size = 0;
    if (!read_all(pipe, &size, sizeof size)) return false;
    text.resize(size);
    return read_all(pipe, text.data(), size);
}

bool write_text(int pipe, const std::string& text) {
    const std::uint64_t size = text.size();
    return write_all(pipe, &size, sizeof size) && write_all(pipe, text.data(), size);
}

// The keeper: half a message counts as none. Returns its exit code.
int keep_until_the_end(int pipe, const LastWord::Print& print) {
    std::string file;
    std::string text;
    char kind = kept;
    while (kind == kept) {
        std::string next_file;
        std::string next_text;
        if (!read_all(pipe, &kind, 1) || !read_text(pipe, next_file) || !read_text(pipe, next_text)) break;
        file = next_file;
        text = next_text;
    }
    if (kind == silent || text.empty()) return 0;
    try {
        print(file, text);
        return 0;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}

}  // namespace

LastWord::LastWord(bool speaks, const Print& print) {
    int ends[2];
    if (!speaks || pipe(ends) != 0) return;
    std::fflush(nullptr);
    keeper_ = fork();
    if (keeper_ == 0) {
        close(ends[1]);
        setsid();
        for (const int signal : {SIGINT, SIGTERM, SIGHUP}) std::signal(signal, SIG_IGN);
        const int code = keep_until_the_end(ends[0], print);
        std::fflush(nullptr);
        _exit(code);
    }
    close(ends[0]);
    if (keeper_ < 0) {
        close(ends[1]);
        return;
    }
    pipe_ = ends[1];
    std::signal(SIGPIPE, SIG_IGN);  // a keeper that was killed must not end the run
}

LastWord::~LastWord() {
    if (keeper_ < 0) return;
    send(silent, "", "");
    dismiss();
}

void LastWord::send(char kind, const std::string& file, const std::string& text) {
    if (pipe_ >= 0 && !(write_all(pipe_, &kind, 1) && write_text(pipe_, file) && write_text(pipe_, text))) {
        close(pipe_);
        pipe_ = -1;
    }
}

// Waits for the keeper to end; whether it did what it was told.
bool LastWord::dismiss() {
    const bool heard = pipe_ >= 0;
    if (heard) close(pipe_);
    pipe_ = -1;
    int status = 1;
    while (waitpid(keeper_, &status, 0) < 0 && errno == EINTR) {
    }
    keeper_ = -1;
    return heard && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

void LastWord::keep(const std::string& file, const std::string& text) { send(kept, file, text); }

void LastWord::say(const std::string& file, const std::string& text) {
    if (keeper_ < 0) return;
    send(said, file, text);
    if (!dismiss()) throw WrongUse("the document could not be printed");
}

}  // namespace nearfar
