#include "supervisor/child.h"

#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>

#include "core/error.h"

namespace nearfar {

pid_t start_child(std::optional<LineChannel>& channel, const std::function<void(LineChannel&)>& body) {
    std::pair<int, int> ends;
    try {
        ends = connected_sockets();
    } catch (const Prevented&) {
        return -1;
    }
    channel.emplace(ends.first);
    std::fflush(nullptr);
    const pid_t parent = getpid();
    const pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) _exit(1);
        channel->close();
        LineChannel own(ends.second);
        body(own);
        _exit(0);
    }
    const int error = errno;
    close(ends.second);
    errno = error;
    return child;
}

}  // namespace nearfar
