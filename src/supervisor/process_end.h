// How another process ended, in words.
#pragma once

#include <cstdint>
#include <string>

namespace nearfar {

// "was killed (SIGKILL)", "aborted (SIGABRT)", "ended with exit code 4", from what waitpid() says.
std::string words_of_end(int status);

// Whether the kernel killed for want of memory since this was made: by the counters of this process's cgroup, or of the machine.
class MemoryKills {
public:
    MemoryKills();
    // The file whose counter has grown; empty: none.
    std::string grown() const;

private:
    std::string file_;
    std::uint64_t before_ = 0;
};

}  // namespace nearfar
