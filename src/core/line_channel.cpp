#include "core/line_channel.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>

#include "core/clock.h"
#include "core/error.h"

namespace nearfar {
namespace {

constexpr double longest_wait = 3600;

// Milliseconds for poll(), never rounded to a wait that is none.
int milliseconds(double seconds) { return static_cast<int>(std::ceil(std::clamp(seconds, 0.0, longest_wait) * 1e3)); }

}  // namespace

Heard LineChannel::receive(std::string& line, double seconds) {
    const double end = seconds < 0 ? INFINITY : now() + seconds;
    bool closed = socket_ < 0;
    while (true) {
        const std::size_t feed = pending_.find('\n', searched_);
        if (feed != std::string::npos) {
            line.assign(pending_, begin_, feed - begin_);
            begin_ = searched_ = feed + 1;
            return Heard::line;
        }
        pending_.erase(0, begin_);
        begin_ = 0;
        searched_ = pending_.size();
        if (closed) return Heard::closed;
        pollfd poller{socket_, POLLIN, 0};
        const int ready = poll(&poller, 1, milliseconds(end - now()));
        if (ready == 0 && now() >= end) return Heard::nothing;
        if (ready <= 0) continue;
        std::array<char, 16384> piece;
        const ssize_t got = recv(socket_, piece.data(), piece.size(), MSG_DONTWAIT);
        if (got > 0) pending_.append(piece.data(), static_cast<std::size_t>(got));
        closed = got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN);
    }
}

bool LineChannel::has_news() const {
    pollfd poller{socket_, POLLIN, 0};
    return pending_.find('\n', searched_) != std::string::npos || poll(&poller, 1, 0) > 0;
}

void LineChannel::send(const std::string& line) const {
    const std::string whole = line + '\n';
    for (std::size_t sent = 0; sent < whole.size();) {
        const ssize_t written = ::send(socket_, whole.data() + sent, whole.size() - sent, MSG_NOSIGNAL);
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return;
        sent += static_cast<std::size_t>(written);
    }
}

void LineChannel::close() {
    if (socket_ >= 0) ::close(std::exchange(socket_, -1));
}

std::pair<int, int> connected_sockets() {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        throw Prevented("not_allowed", std::string("no socket to another process can be had: ") + std::strerror(errno) +
                                           " (`ulimit -n` limits how many files are open)");
    return {ends[0], ends[1]};
}

}  // namespace nearfar
