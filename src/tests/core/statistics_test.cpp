#include "core/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace nearfar {
namespace {

TEST(Statistics, MedianOfEvenAndOddNumbersOfSamples) {
    EXPECT_DOUBLE_EQ(summarise({3, 1, 2}).median, 2);
    EXPECT_DOUBLE_EQ(summarise({4, 1, 3, 2}).median, 2.5);
}

TEST(Statistics, MadIsUnscaled) { EXPECT_DOUBLE_EQ(summarise({1, 2, 3, 4, 100}).mad, 1); }

TEST(Statistics, SamplesKeepTheirOrder) {
    const std::vector<double> samples{3, 1, 2};
    EXPECT_EQ(summarise(samples).samples, samples);
}

TEST(Statistics, IntervalIsTheNarrowestThatCoversTheMedianWith95Percent) {
    for (const std::size_t n : looks) {
        const auto [low, high] = median_interval(n);
        EXPECT_EQ(low + high, n - 1) << "the interval is symmetric";
        const auto coverage = [n](std::size_t k) {
            double outside = 0;
            double choose = 1;
            for (std::size_t i = 0; i <= k; ++i) {
                outside += choose;
                choose = choose * static_cast<double>(n - i) / static_cast<double>(i + 1);
            }
            return 1 - 2 * outside / std::pow(2.0, static_cast<double>(n));
        };
        EXPECT_GE(coverage(low), 0.95) << "n = " << n;
        EXPECT_LT(coverage(low + 1), 0.95) << "n = " << n << " could have a narrower one";
    }
}

TEST(Statistics, IntervalsHoldTheTrueMedianAsOftenAsTheyPromise) {
    std::mt19937 random(7);
    std::normal_distribution<double> noise(100, 1);
    int held = 0;
    constexpr int runs = 4000;
    for (int run = 0; run < runs; ++run) {
        std::vector<double> samples(9);
        for (double& sample : samples) sample = noise(random);
        const Summary summary = summarise(samples);
        held += summary.low <= 100 && summary.high >= 100 ? 1 : 0;
    }
    EXPECT_GT(static_cast<double>(held) / runs, 0.95);
}

}  // namespace
}  // namespace nearfar
