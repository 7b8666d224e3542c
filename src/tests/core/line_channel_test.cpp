#include "core/line_channel.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <thread>

#include "core/clock.h"

namespace nearfar {
namespace {

struct Ends {
    std::pair<int, int> sockets = connected_sockets();
    LineChannel program{sockets.first};
    LineChannel task{sockets.second};
};

std::string heard(LineChannel& channel) {
    std::string line;
    switch (channel.receive(line, 1)) {
        case Heard::line: return line;
        case Heard::nothing: return "<nothing>";
        default: return "<closed>";
    }
}

TEST(LineChannel, LinesArriveWholeHoweverTheyAreCut) {
    Ends ends;
    ASSERT_EQ(write(ends.sockets.first, "rea", 3), 3);
    std::string line;
    EXPECT_EQ(ends.task.receive(line, 0), Heard::nothing);
    EXPECT_FALSE(ends.task.has_news()) << "half a line, already read, is no news";
    ASSERT_EQ(write(ends.sockets.first, "dy\ngo\nst", 8), 8);
    EXPECT_EQ(heard(ends.task), "ready");
    EXPECT_TRUE(ends.task.has_news()) << "the next line is here, though the socket has no more to read";
    EXPECT_EQ(heard(ends.task), "go");
    ends.program.close();
    EXPECT_EQ(heard(ends.task), "<closed>") << "half a line is none";
}

TEST(LineChannel, WaitsNoLongerThanItMay) {
    Ends ends;
    std::string line;
    const double begin = now();
    EXPECT_EQ(ends.task.receive(line, 0.05), Heard::nothing);
    EXPECT_GE(now() - begin, 0.05);
    EXPECT_LT(now() - begin, 0.5);
}

TEST(LineChannel, WhatWasSaidBeforeTheEndIsHeardAndSpeakingToTheDeadKillsNobody) {
    Ends ends;
    ends.program.send("not read by the task");
    ends.task.send("gone");
    ends.task.close();
    ends.program.send("go");  // SIGPIPE would end this test
    EXPECT_EQ(heard(ends.program), "gone");
    EXPECT_EQ(heard(ends.program), "<closed>");
    EXPECT_TRUE(ends.program.has_news());
}

TEST(LineChannel, LongLinesArriveWholeAndTheNextOnesToo) {
    Ends ends;
    const std::string text(std::size_t{1} << 20, 'x');
    std::thread program([&] {
        for (int i = 0; i < 3; ++i) {
            ends.program.send(text + std::to_string(i));
            ends.program.send("short " + std::to_string(i));
        }
    });
    for (int i = 0; i < 3; ++i) {
        EXPECT_TRUE(heard(ends.task) == text + std::to_string(i)) << i;
        EXPECT_EQ(heard(ends.task), "short " + std::to_string(i));
    }
    program.join();
    EXPECT_FALSE(ends.task.has_news());
}

}  // namespace
}  // namespace nearfar
