// A process beside this one, with a channel of lines between them.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>

#include "core/line_channel.h"

namespace nearfar {

// Forks; the new process runs `body` with its end of the channel, and must end there. It is killed when this process ends. Returns its
// number, with this process's end in `channel`; -1 where none could be had (errno says why).
pid_t start_child(std::optional<LineChannel>& channel, const std::function<void(LineChannel&)>& body);

}  // namespace nearfar
