// Messages between two ranks in one agreed window: round trips, or a stream in one direction.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/window.h"
#include "memory/fresh_memory.h"
#include "mpi/agreed_window.h"
#include "mpi/contention/contention_plan.h"

namespace nearfar {

struct Traffic {
    enum class Kind { ping_pong, stream } kind;
    std::size_t bytes;  // of one message

    std::string text() const;  // "pingpong_8B", "stream_1MiB"
};

// Of the messages of one communicator in one window, microseconds: halves of round trips.
struct Percentiles {
    double p50 = 0;
    double p95 = 0;
    double p99 = 0;
    double max = 0;
    std::size_t n = 0;
};

// The smallest value that at least the named share is no larger than (nearest rank). Reorders `values`; none: all zero.
Percentiles percentiles_of(std::vector<float>& values);

// What one side saw of a window. Only the side that initiates has figures.
struct MessagesSeen {
    Percentiles latency;  // ping-pong, microseconds: half of each round trip
    double rate = 0;      // stream, GB/s inside the window, edges interpolated
    bool empty = false;   // no message was complete inside the window: there is no figure
    bool wrong = false;   // what arrived last is not what was sent
};

// What one side of a communicator sends in one window of time: every 8 bytes follow from the pair, the side, the window and their
// position (memory/pattern.h), and no two are alike.
class MessageData {
public:
    MessageData(const CommunicatorSide& side, bool of_initiator, std::uint32_t window);

    // Fills as many 8-byte words, from position 0.
    void fill(std::uint64_t* words, std::size_t count) const;
    // The first byte of the message that begins at a position, a multiple of 8.
    char first_byte(std::size_t position) const;
    // Whether any byte of it is wrong.
    bool is_wrong(const char* message, std::size_t bytes, std::size_t position) const;

private:
    std::uint64_t seed_;
};

// Where a message begins in what its side sends: the messages that are under way together, and those of one turn and the next,
// begin at different positions, so that none passes for another, and overlap in all but a few KiB, so that caches hold what they
// would hold of one.
std::size_t message_position(std::size_t turn, std::size_t message);

// One side of a communicator with its buffers, which exist and are touched before anything is timed. Each message is received into
// the same memory every time, as OSU's benchmarks do it.
class MessageLink {
public:
    // The thread that constructs it touches the buffers: bind it first. `longest`: of the windows, seconds.
    MessageLink(const CommunicatorSide& side, std::size_t largest_message, double longest);

    // Where the pages of its buffers are, in effect; empty where the kernel does not say.
    std::vector<int> memory_nodes() const;
    // Fills what will be sent; for what is to be done before the window is agreed on.
    void prepare(const Traffic& traffic);
    // Exchanges messages while the window lasts; both sides call it with the same traffic. Allocates nothing before the last message.
    MessagesSeen run(const Traffic& traffic, const AgreedWindow& window);

private:
    CommunicatorSide side_;
    FreshMemory out_;
    FreshMemory in_;
    std::vector<float> times_;  // ping-pong, of one window
    CompletionLog log_;         // stream, of one window
    std::uint32_t windows_ = 0;
    std::array<char, 2> lasts_{};  // with what the last turn begins, where that is an even one and where it is an odd one

    MessagesSeen ping_pong(const Traffic& traffic, const AgreedWindow& window);
    MessagesSeen stream(const Traffic& traffic, const AgreedWindow& window);
    char* message(std::size_t turn, std::size_t number);
    bool arrived_wrong(std::size_t bytes, std::size_t turn, std::size_t count) const;
};

}  // namespace nearfar
