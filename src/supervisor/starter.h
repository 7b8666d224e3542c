// Whether the process that started a program is still there.
#pragma once

#include <sys/types.h>

namespace nearfar {

class Starter {
public:
    // Of this process: `program`. Nobody asks after its parent where a hang-up is ignored, as under nohup.
    explicit Starter(pid_t program);

    // Looks four times a second at most.
    bool is_gone();

private:
    pid_t program_;
    pid_t process_ = 0;
    double next_look_ = 0;
};

}  // namespace nearfar
