// How another process ended, in words.
#pragma once

#include <sys/types.h>

#include <string>

namespace nearfar {

// "was killed (SIGKILL)", "aborted (SIGABRT)", "ended with exit code 4", from what waitpid() says.
std::string words_of_end(int status);

// The parent of a process; 0 where there is no such process.
pid_t parent_of(pid_t process);

// Whether the kernel killed for want of memory since this was made: by the counters of this process's cgroup, or of the machine.
class MemoryKills {
public:
    MemoryKills();
    // The file whose counter has grown; empty: none.
    std::string grown() const;

private:
    std::string file_;
    long before_ = 0;
};

// Where this process's cgroup counts its memory kills, or the machine does: a file with a line "oom_kill NUMBER"; empty: nowhere.
std::string memory_kill_file();

// The number in that line; 0 where there is none.
long memory_kills_in(const std::string& file);

}  // namespace nearfar
