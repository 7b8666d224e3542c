#include "node/proc_files.h"

#include <gtest/gtest.h>

#include <random>

namespace nearfar {
namespace {

constexpr double ticks = 100;

std::string stat_line(const std::string& name) {
    return "4711 (" + name +
           ") R 1 4711 77 0 -1 4194304 10 20 30 40 250 50 700 -100 20 0 3 0 12345 1000 50 18446744073709551615 1 1";
}

TEST(ProcessTimes, AreReadBehindAnyName) {
    for (const std::string name :
         {"stress", "tmux: server", "a) R 9 9 9 (b", "))))", "(", "", "kworker/0:1-events", "\xff\xfe\n"}) {
        const auto process = parse_process_times(stat_line(name), ticks);
        ASSERT_TRUE(process) << name;
        EXPECT_EQ(process->command, name);
        EXPECT_EQ(process->pid, 4711);
        EXPECT_EQ(process->parent, 1);
        EXPECT_EQ(process->session, 77);
        EXPECT_DOUBLE_EQ(process->seconds, 3);
        EXPECT_DOUBLE_EQ(process->reaped_seconds, 6);
        EXPECT_EQ(process->started, 12345U);
    }
}

TEST(ProcessTimes, OfWhatIsNoneAreNone) {
    const std::string whole = stat_line("sleep");
    for (const std::string text : {"", "(", ")", ")(", "4711", "4711 (sleep)", "x (sleep) R 1 1 1", "4711 (sleep) R one 1 1"})
        EXPECT_FALSE(parse_process_times(text, ticks)) << text;
    for (std::size_t length = 0; length < whole.find("12345"); ++length)
        EXPECT_FALSE(parse_process_times(whole.substr(0, length), ticks)) << length;
    std::mt19937 random(1);
    for (int i = 0; i < 2000; ++i) {
        std::string text = whole;
        text[random() % text.size()] = static_cast<char>(random() % 256);
        parse_process_times(text, ticks);  // whatever it says, it ends
    }
}

TEST(CpuTimes, HaveWhatTheKernelCounts) {
    const auto times = parse_cpu_times("cpu  100 20 30 4000 50 6 7 80 9 10\ncpu0 1 1 1 1\nintr 5\nprocesses 99\n", ticks);
    ASSERT_TRUE(times);
    EXPECT_DOUBLE_EQ(times->busy, 1.5);
    EXPECT_DOUBLE_EQ(times->idle, 40);
    EXPECT_DOUBLE_EQ(times->iowait.value(), 0.5);
    EXPECT_DOUBLE_EQ(times->steal.value(), 0.8);
    EXPECT_EQ(times->forks, 99U);
    const auto old = parse_cpu_times("cpu 100 20 30 4000\n", ticks);
    ASSERT_TRUE(old);
    EXPECT_FALSE(old->iowait || old->steal);
    for (const std::string text : {"", "\n", "cpu", "cpu 1 2 3", "cpu0 1 2 3 4", "cpu a b c d", "btime 1 2 3 4"})
        EXPECT_FALSE(parse_cpu_times(text, ticks)) << text;
}

TEST(Memory, IsFoundByItsName) {
    EXPECT_EQ(parse_memory("MemTotal: 9 kB\nMemAvailable:    7 kB\n", "MemAvailable"), 7U * 1024);
    EXPECT_EQ(parse_memory("Node 1 MemTotal: 9 kB\nNode 1 MemFree:   8 kB\n", "MemFree"), 8U * 1024);
    EXPECT_FALSE(parse_memory("HighMemFree: 8 kB\n", "MemFree"));
    EXPECT_FALSE(parse_memory("MemFree: much\n", "MemFree"));
    EXPECT_FALSE(parse_memory("", "MemFree"));
}

TEST(UserName, IsTheNumberWhereNobodyHasIt) {
    const std::string users = "root:x:0:0:root:/root:/bin/sh\nbroken\nalice:x:1001:1001::/home/alice:\n";
    EXPECT_EQ(user_name(users, 0), "root");
    EXPECT_EQ(user_name(users, 1001), "alice");
    EXPECT_EQ(user_name(users, 100), "100");
    EXPECT_EQ(user_name("", 5), "5");
}

}  // namespace
}  // namespace nearfar
