// Processes without which a run cannot go on, and whether they are still there: its ranks, and whoever started it.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "supervisor/account.h"

namespace nearfar {

// "rank 0 on HOST (process 12), rank 1 on HOST (process 13)"
std::string names_of(const std::vector<KnownRank>& ranks);

// The ranks after the first, on its host, that are there no more, in words; empty where all are. A rank that has died and that its
// launcher has not noticed yet counts as gone.
std::string gone_ranks(const std::vector<KnownRank>& ranks);

// Whether the process that started a program is still there.
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
