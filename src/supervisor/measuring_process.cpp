#include "supervisor/measuring_process.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "core/clock.h"
#include "supervisor/child.h"

namespace nearfar {
namespace {

constexpr double to_end_when_killed = 2;  // seconds
constexpr useconds_t a_moment = 2000;     // microseconds

// At the hard limit on CPU time the kernel sends SIGKILL, which may mean anything; at the soft one SIGXCPU.
void tell_cpu_limit_apart() {
    rlimit limit{};
    if (getrlimit(RLIMIT_CPU, &limit) != 0 || limit.rlim_cur < limit.rlim_max || limit.rlim_max == RLIM_INFINITY) return;
    if (limit.rlim_max > 1) limit.rlim_cur = limit.rlim_max - 1;
    setrlimit(RLIMIT_CPU, &limit);
}

}  // namespace

bool MeasuringProcess::start(const std::function<void(const Send& send)>& body) {
    process_ = start_child(channel_, [&](const LineChannel& channel) {
        tell_cpu_limit_apart();
        for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) std::signal(signal, SIG_DFL);
        body([&](const Message& message) { channel.send(message.line()); });
        std::fflush(nullptr);
        std::exit(0);
    });
    return process_ > 0;
}

void MeasuringProcess::interrupt() const {
    if (process_ > 0) ::kill(process_, SIGINT);
}

bool MeasuringProcess::ends_within(double seconds) {
    for (const double end = now() + seconds; process_ > 0; usleep(a_moment)) {
        const pid_t ended = waitpid(process_, &status_, WNOHANG);
        if (ended < 0 && errno != EINTR) status_ = -1;  // nobody knows how
        if (ended == process_ || (ended < 0 && errno != EINTR)) process_ = -1;
        if (now() > end) break;
    }
    return process_ <= 0;
}

void MeasuringProcess::kill() {
    if (process_ > 0) ::kill(process_, SIGKILL);
    ends_within(to_end_when_killed);
    process_ = -1;
    channel_.reset();
}

}  // namespace nearfar
