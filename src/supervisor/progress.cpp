#include "supervisor/progress.h"

#include <unistd.h>

#include <cstdio>

namespace nearfar {

void print_progress(std::size_t position, std::size_t count, const std::string& words) {
    const bool terminal = isatty(STDERR_FILENO) != 0;
    std::fprintf(stderr, terminal ? "\r\033[K%zu/%zu %s" : "%zu/%zu %s\n", position + 1, count, words.c_str());
    std::fflush(stderr);
}

void end_progress() {
    if (isatty(STDERR_FILENO) != 0) std::fputs("\r\033[K", stderr);
}

}  // namespace nearfar
