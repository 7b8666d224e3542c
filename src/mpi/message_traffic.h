// Messages between two ranks in one agreed window: round trips, or a stream in one direction.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "engine/agreed_window.h"
#include "mpi/contention_figures.h"
#include "mpi/contention_plan.h"

namespace nearfar {

struct Traffic {
    enum class Kind { ping_pong, stream } kind;
    std::size_t bytes;  // of one message

    std::string text() const;  // "pingpong_8B", "stream_1MiB"
};

// What one side saw of a window. Only the side that initiates has figures.
struct MessagesSeen {
    Percentiles latency;  // ping-pong, microseconds: half of each round trip
    double rate = 0;      // stream, GB/s inside the window, edges interpolated
    bool wrong = false;   // what arrived last is not what was sent
};

// One side of a communicator with its buffers, which exist and are touched before anything is timed. Each message is sent from and
// received into the same memory every time, as OSU's benchmarks do it.
class MessageLink {
public:
    // The thread that constructs it touches the buffers: bind it first. `longest`: of the windows, seconds.
    MessageLink(const CommunicatorSide& side, std::size_t largest_message, double longest);

    // Fills what will be sent and empties what will be received into; for what is to be done before the window is agreed on.
    void prepare(const Traffic& traffic);
    // Exchanges messages while the window lasts; both sides call it with the same traffic.
    MessagesSeen run(const Traffic& traffic, const AgreedWindow& window);

private:
    CommunicatorSide side_;
    std::vector<char> out_;
    std::vector<char> in_;
    std::vector<float> times_;  // ping-pong, of one window
    unsigned char serial_ = 0;  // of the windows: data of an earlier one never passes for this one's

    MessagesSeen ping_pong(const Traffic& traffic, const AgreedWindow& window);
    MessagesSeen stream(const Traffic& traffic, const AgreedWindow& window);
    bool is_wrong(const char* message, std::size_t bytes) const;
};

}  // namespace nearfar
