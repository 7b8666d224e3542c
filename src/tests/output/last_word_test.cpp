#include "output/last_word.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <functional>
#include <sstream>
#include <thread>

#include "core/error.h"
#include "mpi/rank_watch.h"

namespace nearfar {
namespace {

void print_to(const std::string& file, const std::string& text) {
    std::ofstream out(file);
    out << text;
    if (!out) throw WrongUse(file + " cannot be written");
}

std::string read(const std::string& file) {
    std::ostringstream all;
    all << std::ifstream(file).rdbuf();
    return all.str();
}

// Runs a body in a process of its own, and waits a little for what it leaves behind.
void in_a_process(const std::function<void()>& body) {
    const pid_t child = fork();
    if (child == 0) {
        body();
        _exit(0);
    }
    waitpid(child, nullptr, 0);
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
}

class LastWords : public testing::Test {
protected:
    const std::string file = testing::TempDir() + "last_word_" + std::to_string(getpid());
    void TearDown() override { std::remove(file.c_str()); }
};

TEST_F(LastWords, WhatWasKeptIsPrintedWhenTheProcessIsKilled) {
    in_a_process([&] {
        LastWord word(true, print_to);
        word.keep(file, "first");
        word.keep(file, "second");
        kill(getpid(), SIGKILL);
    });
    EXPECT_EQ(read(file), "second");
}

TEST_F(LastWords, WhatIsSaidReplacesWhatWasKept) {
    LastWord word(true, print_to);
    word.keep(file, "kept");
    word.say(file, "said");
    EXPECT_EQ(read(file), "said");
}

TEST_F(LastWords, AProcessThatEndsInOrderSaysNothing) {
    in_a_process([&] {
        LastWord word(true, print_to);
        word.keep(file, "kept");
    });
    EXPECT_EQ(read(file), "");
}

TEST_F(LastWords, WhatCannotBePrintedIsTold) {
    LastWord word(true, print_to);
    EXPECT_THROW(word.say("/no/such/folder/file", "said"), WrongUse);
}

TEST(RankWatch, ADeadRankIsNamedAndOneOfAnotherHostIsNot) {
    const pid_t child = fork();
    if (child == 0) _exit(0);
    siginfo_t info{};
    waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT);  // dead, and not reaped
    MpiFacts mpi;
    mpi.ranks = {{0, "here", getpid(), "0", {}, {}}, {1, "here", child, "1", {}, {}}, {2, "there", child, "1", {}, {}}};
    EXPECT_EQ(gone_ranks(mpi, "here"), "rank 1 on here (process " + std::to_string(child) + ")");
    waitpid(child, nullptr, 0);
    EXPECT_EQ(gone_ranks(mpi, "here"), "rank 1 on here (process " + std::to_string(child) + ")");
}

TEST(RankWatch, NoProgressIsAHangOnceAndSaysWhere) {
    MpiFacts mpi;
    mpi.ranks = {{0, "here", getpid(), "0", {}, {}}};
    std::atomic<int> ends{0};
    EarlyEnd why;
    {
        RankWatch watch(mpi, 0.1, [&](const EarlyEnd& end) {
            why = end;
            ++ends;
        });
        watch.progress("saxpy/gpu");
        std::this_thread::sleep_for(std::chrono::milliseconds(400));
    }
    EXPECT_EQ(ends, 1);
    EXPECT_EQ(why.code, "hang");
    EXPECT_NE(why.reason.find("saxpy/gpu"), std::string::npos);
}

}  // namespace
}  // namespace nearfar
