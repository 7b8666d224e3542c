#include "mpi/contention/contention_figures.h"

#include <gtest/gtest.h>

#include "mpi/agreed_window.h"

namespace nearfar {
namespace {

TEST(Percentiles, AreNearestRanks) {
    std::vector<float> values;
    for (int i = 1000; i >= 1; --i) values.push_back(static_cast<float>(i));
    const Percentiles found = percentiles_of(values);
    EXPECT_EQ(found.p50, 500);
    EXPECT_EQ(found.p95, 950);
    EXPECT_EQ(found.p99, 990);
    EXPECT_EQ(found.max, 1000);
    EXPECT_EQ(found.n, 1000U);
}

TEST(Percentiles, OfOneAndOfNone) {
    std::vector<float> one{7};
    EXPECT_EQ(percentiles_of(one).p99, 7);
    std::vector<float> none;
    EXPECT_EQ(percentiles_of(none).n, 0U);
}

TEST(Penalties, AreOfTheSameRound) {
    // The machine is half as fast from round to round; the penalty of each is the same.
    const std::optional<Summary> penalty = latency_penalty({2.2, 4.4, 8.8}, {2, 4, 8});
    ASSERT_TRUE(penalty);
    EXPECT_NEAR(penalty->median, 0.1, 1e-12);
    EXPECT_NEAR(penalty->high - penalty->low, 0, 1e-12);
    EXPECT_NEAR(bandwidth_penalty({40, 20}, {50, 25})->median, 0.2, 1e-12);
}

TEST(Penalties, AreNegativeWhereTogetherIsFaster) {
    EXPECT_LT(latency_penalty({1.9}, {2})->median, 0);
    EXPECT_LT(bandwidth_penalty({51}, {50})->median, 0);
}

TEST(Penalties, AStarvedTaskLosesEverythingAndALostLatencyIsNoSample) {
    EXPECT_EQ(bandwidth_penalty({0, 0}, {50, 50})->median, 1);
    EXPECT_EQ(latency_penalty({0, 2.2}, {2, 2})->n(), 1U);
    EXPECT_FALSE(latency_penalty({0}, {2}));
    EXPECT_FALSE(bandwidth_penalty({1}, {0}));
}

TEST(Penalties, AreNarrowInTheirOwnUnit) {
    EXPECT_FALSE(is_narrow(summarise({0.10, 0.10, 0.10}), 0.02)) << "three rounds say nothing of the median";
    EXPECT_TRUE(is_narrow(summarise({0.00, 0.01, 0.01, 0.02, 0.03, 0.03}), 0.02)) << "a small median is no reason to go on";
    EXPECT_FALSE(is_narrow(summarise({0.00, 0.01, 0.01, 0.02, 0.03, 0.05}), 0.02));
}

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
