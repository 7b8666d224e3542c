#include "mpi/message_traffic.h"

#include <mpi.h>

#include <algorithm>

#include "cell/sizes.h"
#include "core/clock.h"
#include "engine/moving_phase.h"
#include "engine/window.h"

namespace nearfar {
namespace {

constexpr int message_tag = 1;
constexpr int answer_tag = 2;
constexpr double fastest_round_trips = 5e6;  // a second; what is beyond is not logged
constexpr std::size_t most_logged = std::size_t{4} << 20;
constexpr std::size_t stream_window = 64;                     // messages under way at once, as in osu_bw
constexpr std::size_t stream_memory = std::size_t{16} << 20;  // fewer where the messages are large

// The first byte of a message says whether it is the last of its window.
constexpr char more = 1;
constexpr char last = 2;

std::size_t messages_at_once(std::size_t bytes) { return std::clamp<std::size_t>(stream_memory / bytes, 2, stream_window); }

char pattern(std::size_t position, unsigned char serial) {
    return static_cast<char>(position * 7 + serial * std::size_t{31} + 5);
}

}  // namespace

std::string Traffic::text() const { return (kind == Kind::ping_pong ? "pingpong_" : "stream_") + size_words(bytes); }

MessageLink::MessageLink(const CommunicatorSide& side, std::size_t largest_message, double longest)
    : side_(side), out_(largest_message, 1), in_(std::max(largest_message * messages_at_once(largest_message), stream_memory), 1),
      times_(std::min(most_logged, static_cast<std::size_t>(longest * fastest_round_trips) + 1), 0.0F) {}

void MessageLink::prepare(const Traffic& traffic) {
    ++serial_;
    for (std::size_t i = 1; i < traffic.bytes; ++i) out_[i] = pattern(i, serial_);
    std::fill(in_.begin(), in_.begin() + static_cast<std::ptrdiff_t>(traffic.bytes), '\0');
}

MessagesSeen MessageLink::run(const Traffic& traffic, const AgreedWindow& window) {
    wait_until(window.start);
    return traffic.kind == Traffic::Kind::ping_pong ? ping_pong(traffic, window) : stream(traffic, window);
}

bool MessageLink::is_wrong(const char* message, std::size_t bytes) const {
    for (std::size_t i = 1; i < bytes; ++i)
        if (message[i] != pattern(i, serial_)) return true;
    return false;
}

MessagesSeen MessageLink::ping_pong(const Traffic& traffic, const AgreedWindow& window) {
    const int bytes = static_cast<int>(traffic.bytes);
    MessagesSeen seen;
    if (!side_.initiates) {
        do {
            MPI_Recv(in_.data(), bytes, MPI_CHAR, side_.partner, message_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(out_.data(), bytes, MPI_CHAR, side_.partner, message_tag, MPI_COMM_WORLD);
        } while (in_[0] != last);
        seen.wrong = is_wrong(in_.data(), traffic.bytes);
        return seen;
    }
    std::size_t logged = 0;
    double before = now();
    do {
        out_[0] = before >= window.stop ? last : more;
        MPI_Send(out_.data(), bytes, MPI_CHAR, side_.partner, message_tag, MPI_COMM_WORLD);
        MPI_Recv(in_.data(), bytes, MPI_CHAR, side_.partner, message_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        const double after = now();
        if (before >= window.open && after <= window.close && logged < times_.size())
            times_[logged++] = static_cast<float>((after - before) / 2 * 1e6);
        before = after;
    } while (out_[0] != last);
    seen.wrong = is_wrong(in_.data(), traffic.bytes);
    std::vector<float> times(times_.begin(), times_.begin() + static_cast<std::ptrdiff_t>(logged));
    seen.latency = percentiles_of(times);
    return seen;
}

MessagesSeen MessageLink::stream(const Traffic& traffic, const AgreedWindow& window) {
    const int bytes = static_cast<int>(traffic.bytes);
    const std::size_t count = messages_at_once(traffic.bytes);
    std::vector<MPI_Request> requests(count);
    char answer = 0;
    MessagesSeen seen;
    if (!side_.initiates) {
        do {
            for (std::size_t i = 0; i < count; ++i)
                MPI_Irecv(in_.data() + i * traffic.bytes, bytes, MPI_CHAR, side_.partner, message_tag, MPI_COMM_WORLD,
                          &requests[i]);
            MPI_Waitall(static_cast<int>(count), requests.data(), MPI_STATUSES_IGNORE);
            MPI_Send(&answer, 1, MPI_CHAR, side_.partner, answer_tag, MPI_COMM_WORLD);
        } while (in_[0] != last);
        for (std::size_t i = 0; i < count; ++i) seen.wrong |= is_wrong(in_.data() + i * traffic.bytes, traffic.bytes);
        return seen;
    }
    CompletionLog log;
    log.chunk_bytes = static_cast<double>(count * traffic.bytes);
    do {
        out_[0] = now() >= window.stop ? last : more;
        for (MPI_Request& request : requests)
            MPI_Isend(out_.data(), bytes, MPI_CHAR, side_.partner, message_tag, MPI_COMM_WORLD, &request);
        MPI_Waitall(static_cast<int>(count), requests.data(), MPI_STATUSES_IGNORE);
        MPI_Recv(&answer, 1, MPI_CHAR, side_.partner, answer_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        log.times.push_back(now());
    } while (out_[0] != last);
    seen.rate = (log.bytes_at(window.close) - log.bytes_at(window.open)) / window.length() / 1e9;
    return seen;
}

}  // namespace nearfar
