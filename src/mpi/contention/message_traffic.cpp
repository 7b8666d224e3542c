#include "mpi/contention/message_traffic.h"

#include <mpi.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <set>

#include "cell/sizes.h"
#include "core/clock.h"
#include "memory/pattern.h"

namespace nearfar {
namespace {

constexpr int message_tag = 1;
constexpr int answer_tag = 2;
constexpr double fastest_round_trips = 5e6;  // a second; what is beyond is not logged
constexpr double fastest_turns = 1e6;        // of a stream, a second
constexpr std::size_t most_logged = std::size_t{4} << 20;
constexpr std::size_t stream_window = 64;                     // messages under way at once, as in osu_bw
constexpr std::size_t stream_memory = std::size_t{16} << 20;  // fewer where the messages are large

std::size_t messages_at_once(std::size_t bytes) { return std::clamp<std::size_t>(stream_memory / bytes, 2, stream_window); }

// What a side prepares for messages of so many bytes, in 8-byte words.
std::size_t words_for(std::size_t bytes) { return (message_position(1, stream_window) + bytes) / sizeof(std::uint64_t) + 1; }

double nearest_rank(std::vector<float>& values, double share) {
    const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(values.size())));
    const auto at = values.begin() + static_cast<std::ptrdiff_t>(std::max<std::size_t>(rank, 1) - 1);
    std::nth_element(values.begin(), at, values.end());
    return static_cast<double>(*at);
}

// Of the last turn's first message the first byte is inverted.
char inverted(char byte) { return static_cast<char>(~byte); }

}  // namespace

std::string Traffic::text() const { return (kind == Kind::ping_pong ? "pingpong_" : "stream_") + size_words(bytes); }

Percentiles percentiles_of(std::vector<float>& values) {
    if (values.empty()) return {};
    Percentiles found;
    found.n = values.size();
    found.p50 = nearest_rank(values, 0.50);
    found.p95 = nearest_rank(values, 0.95);
    found.p99 = nearest_rank(values, 0.99);
    found.max = static_cast<double>(*std::max_element(values.begin(), values.end()));
    return found;
}

MessageData::MessageData(const CommunicatorSide& side, bool of_initiator, std::uint32_t window)
    : seed_((static_cast<std::uint64_t>(side.pair) * 2 + (of_initiator ? 1 : 0)) << 48 | static_cast<std::uint64_t>(window)
                                                                                             << 28) {}

void MessageData::fill(std::uint64_t* words, std::size_t count) const { fill_pattern(words, seed_, 0, count); }

char MessageData::first_byte(std::size_t position) const {
    const std::uint64_t word = pattern(seed_, position / sizeof word);
    char byte = 0;
    std::memcpy(&byte, &word, sizeof byte);
    return byte;
}

bool MessageData::is_wrong(const char* message, std::size_t bytes, std::size_t position) const {
    for (std::size_t at = 0; at < bytes; at += sizeof seed_) {
        const std::uint64_t word = pattern(seed_, (position + at) / sizeof word);
        if (std::memcmp(message + at, &word, std::min(bytes - at, sizeof word)) != 0) return true;
    }
    return false;
}

// A cache line apart, and the turns no multiple of a page.
std::size_t message_position(std::size_t turn, std::size_t message) { return (turn % 2 * (stream_window + 1) + message) * 64; }

MessageLink::MessageLink(const CommunicatorSide& side, std::size_t largest_message, double longest)
    : side_(side), out_(words_for(largest_message) * sizeof(std::uint64_t)),
      in_(std::max(largest_message * messages_at_once(largest_message), stream_memory)),
      times_(std::min(most_logged, static_cast<std::size_t>(longest * fastest_round_trips) + 1), 0.0F) {
    log_.times.reserve(std::min(most_logged, static_cast<std::size_t>((longest + 1) * fastest_turns)));
}

std::vector<int> MessageLink::memory_nodes() const {
    const std::vector<int> in = in_.memory_nodes();
    std::set<int> found(in.begin(), in.end());
    for (const int node : out_.memory_nodes()) found.insert(node);
    return {found.begin(), found.end()};
}

void MessageLink::prepare(const Traffic& traffic) {
    ++windows_;
    MessageData(side_, side_.initiates, windows_).fill(reinterpret_cast<std::uint64_t*>(out_.data()), words_for(traffic.bytes));
    const MessageData expected(side_, !side_.initiates, windows_);
    for (std::size_t turn = 0; turn < lasts_.size(); ++turn)
        lasts_[turn] = inverted(expected.first_byte(message_position(turn, 0)));
}

MessagesSeen MessageLink::run(const Traffic& traffic, const AgreedWindow& window) {
    wait_until(window.start);
    return traffic.kind == Traffic::Kind::ping_pong ? ping_pong(traffic, window) : stream(traffic, window);
}

char* MessageLink::message(std::size_t turn, std::size_t number) { return out_.data() + message_position(turn, number); }

// Of the turn's messages, each after the other in memory.
bool MessageLink::arrived_wrong(std::size_t bytes, std::size_t turn, std::size_t count) const {
    const MessageData expected(side_, !side_.initiates, windows_);
    bool wrong = false;
    for (std::size_t i = 0; i < count; ++i) wrong |= expected.is_wrong(in_.data() + i * bytes, bytes, message_position(turn, i));
    return wrong;
}

MessagesSeen MessageLink::ping_pong(const Traffic& traffic, const AgreedWindow& window) {
    const int bytes = static_cast<int>(traffic.bytes);
    MessagesSeen seen;
    std::size_t turn = 0;
    if (!side_.initiates) {
        for (bool last = false; !last; ++turn) {
            MPI_Recv(in_.data(), bytes, MPI_CHAR, side_.partner, message_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(message(turn, 0), bytes, MPI_CHAR, side_.partner, message_tag, MPI_COMM_WORLD);
            last = *in_.data() == lasts_[turn % 2];
        }
        *in_.data() = inverted(*in_.data());
        seen.wrong = arrived_wrong(traffic.bytes, turn - 1, 1);
        return seen;
    }
    std::size_t logged = 0;
    double before = now();
    for (bool last = false; !last; ++turn) {
        char* const out = message(turn, 0);
        last = before >= window.stop;
        if (last) *out = inverted(*out);
        MPI_Send(out, bytes, MPI_CHAR, side_.partner, message_tag, MPI_COMM_WORLD);
        MPI_Recv(in_.data(), bytes, MPI_CHAR, side_.partner, message_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        const double after = now();
        if (before >= window.open && after <= window.close && logged < times_.size())
            times_[logged++] = static_cast<float>((after - before) / 2 * 1e6);
        before = after;
    }
    seen.wrong = arrived_wrong(traffic.bytes, turn - 1, 1);
    std::vector<float> times(times_.begin(), times_.begin() + static_cast<std::ptrdiff_t>(logged));
    seen.empty = times.empty();
    seen.latency = percentiles_of(times);
    return seen;
}

MessagesSeen MessageLink::stream(const Traffic& traffic, const AgreedWindow& window) {
    const int bytes = static_cast<int>(traffic.bytes);
    const std::size_t count = messages_at_once(traffic.bytes);
    std::array<MPI_Request, stream_window> requests{};
    char answer = 0;
    MessagesSeen seen;
    std::size_t turn = 0;
    if (!side_.initiates) {
        for (bool last = false; !last; ++turn) {
            for (std::size_t i = 0; i < count; ++i)
                MPI_Irecv(in_.data() + i * traffic.bytes, bytes, MPI_CHAR, side_.partner, message_tag, MPI_COMM_WORLD,
                          &requests[i]);
            MPI_Waitall(static_cast<int>(count), requests.data(), MPI_STATUSES_IGNORE);
            MPI_Send(&answer, 1, MPI_CHAR, side_.partner, answer_tag, MPI_COMM_WORLD);
            last = *in_.data() == lasts_[turn % 2];
        }
        *in_.data() = inverted(*in_.data());
        seen.wrong = arrived_wrong(traffic.bytes, turn - 1, count);
        return seen;
    }
    log_.chunk_bytes = static_cast<double>(count * traffic.bytes);
    log_.times.assign(1, now());  // what is complete before the first turn is
    for (bool last = false; !last; ++turn) {
        last = log_.times.back() >= window.stop;
        if (last) *message(turn, 0) = inverted(*message(turn, 0));
        for (std::size_t i = 0; i < count; ++i)
            MPI_Isend(message(turn, i), bytes, MPI_CHAR, side_.partner, message_tag, MPI_COMM_WORLD, &requests[i]);
        MPI_Waitall(static_cast<int>(count), requests.data(), MPI_STATUSES_IGNORE);
        MPI_Recv(&answer, 1, MPI_CHAR, side_.partner, answer_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (log_.times.size() == log_.times.capacity()) log_.times.pop_back();
        log_.times.push_back(now());
    }
    seen.empty = log_.times.front() > window.open || log_.count(window.open, window.close) == 0;
    seen.rate = log_.rate(window.open, window.close);
    return seen;
}

}  // namespace nearfar
