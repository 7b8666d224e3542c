// Lines of text over a socket to another process, which may be slow, silent or gone.
#pragma once

#include <cstddef>
#include <string>
#include <utility>

namespace nearfar {

// What came: a line, nothing in time, or that the other side closed (or died) and all its lines are read.
enum class Heard { line, nothing, closed };

class LineChannel {
public:
    // Owns the socket.
    explicit LineChannel(int socket) : socket_(socket) {}
    ~LineChannel() { close(); }
    LineChannel(LineChannel&& other) noexcept
        : socket_(std::exchange(other.socket_, -1)), pending_(std::move(other.pending_)), begin_(other.begin_),
          searched_(other.searched_) {}
    LineChannel& operator=(LineChannel&&) = delete;
    LineChannel(const LineChannel&) = delete;
    LineChannel& operator=(const LineChannel&) = delete;

    // Waits at most `seconds` (below zero: for ever).
    Heard receive(std::string& line, double seconds);
    // Something to receive, were it that the other side closed: does not wait.
    bool has_news() const;
    // Waits while the other side does not read. A side that is gone is told by receive(), after the lines that it left.
    void send(const std::string& line) const;
    void close();

private:
    int socket_;
    std::string pending_;       // read; received up to begin_
    std::size_t begin_ = 0;     // of the next line
    std::size_t searched_ = 0;  // no line feed between begin_ and here
};

// Two sockets that are each other's other side; neither is inherited by a program that is started.
std::pair<int, int> connected_sockets();

}  // namespace nearfar
