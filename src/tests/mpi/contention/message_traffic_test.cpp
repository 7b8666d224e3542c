#include "mpi/contention/message_traffic.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "core/fields.h"
#include "mpi/contention/contention_results.h"

namespace nearfar {
namespace {

constexpr CommunicatorSide initiator{3, 3, 1, true};

// A message as it is sent.
std::vector<char> sent(const MessageData& data, std::size_t bytes, std::size_t position) {
    std::vector<std::uint64_t> words((position + bytes) / 8 + 1);
    data.fill(words.data(), words.size());
    std::vector<char> message(bytes);
    std::memcpy(message.data(), reinterpret_cast<const char*>(words.data()) + position, bytes);
    return message;
}

TEST(MessageData, IsRightInEveryByteAtAnySize) {
    const MessageData data(initiator, true, 1);
    const std::size_t position = message_position(1, 5);
    for (const std::size_t bytes : {1, 2, 7, 8, 9, 15, 1000, 1001}) {
        std::vector<char> message = sent(data, bytes, position);
        EXPECT_FALSE(data.is_wrong(message.data(), bytes, position)) << bytes;
        EXPECT_EQ(message[0], data.first_byte(position));
        for (const std::size_t at : {std::size_t{0}, bytes / 2, bytes - 1}) {
            message[at] = static_cast<char>(message[at] ^ 1);
            EXPECT_TRUE(data.is_wrong(message.data(), bytes, position)) << at << " of " << bytes;
            message[at] = static_cast<char>(message[at] ^ 1);
        }
    }
}

TEST(MessageData, HasNoPeriod) {
    const MessageData data(initiator, true, 1);
    const std::vector<char> longer = sent(data, 9000, 0);
    for (const std::size_t shift : {8, 64, 256, 512, 4096}) EXPECT_TRUE(data.is_wrong(longer.data() + shift, 4096, 0)) << shift;
    std::vector<char> swapped = sent(data, 512, 0);
    std::swap_ranges(swapped.begin(), swapped.begin() + 256, swapped.begin() + 256);
    EXPECT_TRUE(data.is_wrong(swapped.data(), 512, 0));
}

TEST(MessageData, OfAnotherMessageTurnWindowSideOrPairIsWrong) {
    const MessageData data(initiator, true, 1);
    const std::vector<char> message = sent(data, 8, message_position(0, 0));
    for (const auto& [turn, number] : {std::pair<std::size_t, std::size_t>{0, 1}, {1, 0}, {1, 63}})
        EXPECT_TRUE(data.is_wrong(message.data(), 8, message_position(turn, number))) << turn << " " << number;
    const CommunicatorSide next{4, 4, 1, true};
    for (const MessageData& other :
         {MessageData(initiator, true, 2), MessageData(initiator, false, 1), MessageData(next, true, 1)})
        EXPECT_TRUE(other.is_wrong(message.data(), 8, message_position(0, 0)));
}

TEST(MessageData, BeginsElsewhereForAllThatIsUnderWayAndInTheTurnBefore) {
    std::set<std::size_t> positions;
    for (const std::size_t turn : {0, 1})
        for (std::size_t number = 0; number < 64; ++number) positions.insert(message_position(turn, number));
    EXPECT_EQ(positions.size(), 128U);
    EXPECT_EQ(message_position(2, 7), message_position(0, 7));
}

TEST(Told, WhatARankSawIsReadBackAsItWas) {
    RankSeen seen;
    seen.late = true;
    seen.latency = {0.1, 2.0 / 3, 3, 1e9, 123456789};
    seen.rate = 1e-3;
    seen.moved = {{50.25}, {0, true}};
    const RankSeen read = value_in<RankSeen>(parse_message(message_of("seen", seen).line()));
    EXPECT_TRUE(read.late && !read.empty && !read.wrong);
    EXPECT_EQ(read.latency.p95, 2.0 / 3);
    EXPECT_EQ(read.latency.n, 123456789U);
    EXPECT_EQ(read.rate, 1e-3);
    ASSERT_EQ(read.moved.size(), 2U);
    EXPECT_TRUE(read.moved[0].rate == 50.25 && !read.moved[0].starved && read.moved[1].rate == 0 && read.moved[1].starved);
}

TEST(Told, WhereARankIsIsReadBackAsItWas) {
    const RankTold told{{{Layout::together, "3"}, {Layout::split, "40-41"}},
                        {"1", "2"},
                        {{0}, {0, 1}},
                        {1 << 20, 2 << 20},
                        {{Layout::split, {0, 2}}}};
    const RankTold read = value_in<RankTold>(parse_message(message_of("placed", told).line()));
    EXPECT_EQ(read.mpi_cpus, told.mpi_cpus);
    EXPECT_EQ(read.flow_cpus, told.flow_cpus);
    EXPECT_EQ(read.memory_nodes, told.memory_nodes);
    EXPECT_EQ(read.chunks, told.chunks);
    EXPECT_EQ(read.mpi_memory, told.mpi_memory);
    EXPECT_TRUE(value_in<RankTold>(parse_message(message_of("placed", RankTold()).line())).flow_cpus.empty());
}

}  // namespace
}  // namespace nearfar
