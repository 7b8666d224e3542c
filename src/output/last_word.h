// A document outlives its process: a launcher that ends all ranks because one has died often gives rank 0 no time to say so.
#pragma once

#include <functional>
#include <string>

#include <sys/types.h>

namespace nearfar {

// A process of its own, outside the group that launchers end, that holds the last document it was given. It prints when it is
// told to, or when this process is there no more.
class LastWord {
public:
    // Prints a text to a file (empty: standard output); throws WrongUse where that cannot be.
    using Print = std::function<void(const std::string& file, const std::string& text)>;

    // Call before MPI and CUDA start, as it forks; not `speaks`: nothing is ever printed.
    LastWord(bool speaks, const Print& print);
    ~LastWord();
    LastWord(const LastWord&) = delete;
    LastWord& operator=(const LastWord&) = delete;

    // What is printed should this process end without a word.
    void keep(const std::string& file, const std::string& text);
    // Prints now, instead of all that was kept; returns once that is done. Throws WrongUse where it could not be printed.
    void say(const std::string& file, const std::string& text);

private:
    pid_t keeper_ = -1;
    int pipe_ = -1;

    void send(char kind, const std::string& file, const std::string& text);
    bool dismiss();
};

}  // namespace nearfar
