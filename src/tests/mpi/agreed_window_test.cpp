#include "mpi/agreed_window.h"

#include <gtest/gtest.h>

namespace nearfar {
namespace {

TEST(AgreedWindow, BeginsLaterThanItIsToldOfAndEndsAfterItIsClosed) {
    const AgreedWindow window = agree_window(100, 0.01, 0.02, 0.2);
    EXPECT_DOUBLE_EQ(window.start, 100.01);
    EXPECT_DOUBLE_EQ(window.open, 100.03);
    EXPECT_NEAR(window.length(), 0.2, 1e-12);
    EXPECT_GT(window.stop, window.close);
}

TEST(AgreedWindow, IsTheSameOnAnotherClock) {
    const AgreedWindow there = agree_window(100, 0.01, 0.02, 0.2).on_host(-99);
    EXPECT_NEAR(there.start, 1.01, 1e-9);
    EXPECT_NEAR(there.length(), 0.2, 1e-9);
}

TEST(ClockOffset, IsTakenFromTheQuickestReading) {
    const ClockOffset found = clock_offset({{10, 1013, 16}, {20, 1021.5, 22}, {30, 1039, 41}});
    EXPECT_DOUBLE_EQ(found.seconds, 1000.5);
    EXPECT_DOUBLE_EQ(found.uncertainty, 1);
    EXPECT_EQ(clock_offset({}).seconds, 0);
}

}  // namespace
}  // namespace nearfar
