#include "engine/window.h"

#include <gtest/gtest.h>

namespace nearfar {
namespace {

CompletionLog steady(double first, double interval, int chunks, double bytes) {
    CompletionLog log;
    log.chunk_bytes = bytes;
    for (int i = 0; i < chunks; ++i) log.times.push_back(first + i * interval);
    return log;
}

TEST(Window, SteadyFlowsHaveTheirRateInEverySubWindow) {
    // 1 MB every millisecond is 1 GB/s; 1 MB every 2.5 ms is 0.4 GB/s, out of step with the sub-windows.
    const SubWindows windows = common_sub_windows({steady(0, 0.001, 1001, 1e6), steady(0.0007, 0.0025, 401, 1e6)}, 0.01, 0.1);
    ASSERT_EQ(windows.count, 9U);
    for (std::size_t i = 0; i < windows.count; ++i) {
        EXPECT_NEAR(windows.rates[0][i], 1.0, 1e-9);
        EXPECT_NEAR(windows.rates[1][i], 0.4, 1e-9);
        EXPECT_NEAR(windows.total[i], 1.4, 1e-9);
    }
}

TEST(Window, AFlowThatEndsEarlyEndsTheWindowForAll) {
    // The one that goes on alone must not be counted with what it gets then.
    const SubWindows windows = common_sub_windows({steady(0, 0.001, 101, 1e6), steady(0, 0.001, 140, 1e6)}, 0, 0.02);
    EXPECT_LE(windows.begin + windows.length * static_cast<double>(windows.count), 0.1 + 1e-12);
}

TEST(Window, SelfTimedRatesOfTurnsAreNotAdded) {
    // Two flows take turns of 50 ms: each moves 1 GB/s in its own turn, both together move 1 GB/s.
    CompletionLog odd;
    CompletionLog even;
    odd.chunk_bytes = even.chunk_bytes = 1e6;
    for (int turn = 0; turn < 20; ++turn)
        for (int i = 1; i <= 50; ++i) (turn % 2 == 0 ? even : odd).times.push_back(turn * 0.05 + i * 0.001);
    const SubWindows windows = common_sub_windows({odd, even}, 0, 0.1);
    ASSERT_GE(windows.count, 6U);
    for (const double total : windows.total) EXPECT_NEAR(total, 1.0, 0.05);
}

TEST(Window, AStarvedFlowHoldsNobodyUp) {
    const SubWindows windows = common_sub_windows({steady(0, 0.001, 1001, 1e6), steady(0.4, 1, 1, 1e6)}, 0, 0.1, 4);
    ASSERT_EQ(windows.count, 9U + 1U);
    EXPECT_NEAR(windows.rates[0][5], 1.0, 1e-9);
    EXPECT_EQ(windows.rates[1][5], 0.0);
}

TEST(Window, AFlowThatStopsMovingHoldsNobodyUp) {
    const SubWindows windows = common_sub_windows({steady(0, 0.001, 1001, 1e6), steady(0, 0.001, 101, 1e6)}, 0, 0.1, 4);
    ASSERT_GE(windows.count, 9U);
    EXPECT_NEAR(windows.rates[1][0], 1.0, 1e-2);
    EXPECT_EQ(windows.rates[1][5], 0.0);
}

TEST(Window, TooShortForOneSubWindowIsNone) {
    EXPECT_EQ(common_sub_windows({steady(0, 0.001, 11, 1e6)}, 0, 0.1).count, 0U);
    EXPECT_EQ(common_sub_windows({}, 0, 0.1).count, 0U);
    EXPECT_EQ(common_sub_windows({CompletionLog{}}, 0, 0.1).count, 0U);
}

}  // namespace
}  // namespace nearfar
