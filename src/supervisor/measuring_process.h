// The process that measures, as the one that looks after it sees it: started, heard, interrupted, and ended.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>

#include "core/line_channel.h"
#include "core/message.h"

namespace nearfar {

class MeasuringProcess {
public:
    using Send = std::function<void(const Message&)>;

    // Forks; the new process runs `body` with the way to tell things, and ends. False where none could be had (errno says why). It
    // is killed when this process ends.
    bool start(const std::function<void(const Send& send)>& body);

    Heard receive(std::string& line, double seconds) { return channel_->receive(line, seconds); }
    void interrupt() const;
    // Waits at most so long; whether it is there no more. status() is then what waitpid() said.
    bool ends_within(double seconds);
    int status() const { return status_; }
    // Kills it, if it is there. One that hangs in the driver stays, and is nobody's any more.
    void kill();

private:
    pid_t process_ = -1;
    int status_ = 0;
    std::optional<LineChannel> channel_;
};

}  // namespace nearfar
