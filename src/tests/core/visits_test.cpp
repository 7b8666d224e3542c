#include "core/visits.h"

#include <gtest/gtest.h>

namespace nearfar {
namespace {

std::vector<Visit> visits_of(const std::vector<std::size_t>& counts) {
    std::vector<Visit> visits;
    for (const std::size_t count : counts) visits.push_back({0, 0, count});
    return visits;
}

TEST(Visits, OneVisitHasNoPlateauAndTheIntervalOfItsSamples) {
    const std::vector<double> samples{50, 51, 52, 53, 54, 55};
    const Summary rate = summarise(samples, visits_of({6}));
    EXPECT_EQ(rate.low, 50);
    EXPECT_EQ(rate.high, 55);
    EXPECT_FALSE(plateau_of(rate, visits_of({6})));
}

TEST(Visits, TheIntervalIsOverVisitsThatAgreeWithin) {
    // Each visit is sure of itself; they are 4 GB/s apart.
    const Summary rate = summarise({51, 51, 51, 55, 55, 55}, visits_of({3, 3}));
    EXPECT_LE(rate.low, 51);
    EXPECT_GE(rate.high, 55);
    const std::optional<Plateau> plateau = plateau_of(rate, visits_of({3, 3}));
    ASSERT_TRUE(plateau);
    EXPECT_GT(plateau->value, 54.9);
    EXPECT_NEAR(plateau->behind, 4.0 / 55, 1e-9);
    EXPECT_FALSE(is_reached_again(*plateau, 0.005));
}

TEST(Visits, ALevelThatThreeVisitsReachedIsReachedAgain) {
    const Summary rate = summarise({55, 55, 55, 51, 51, 51, 54.9, 54.9, 54.9, 54.8, 54.8, 54.8}, visits_of({3, 3, 3, 3}));
    const std::optional<Plateau> plateau = plateau_of(rate, visits_of({3, 3, 3, 3}));
    ASSERT_TRUE(plateau);
    EXPECT_TRUE(is_reached_again(*plateau, 0.005));
    EXPECT_LT(plateau->steadiness, 1);
    EXPECT_LE(plateau->low, plateau->value);
    EXPECT_GE(plateau->high, plateau->value);
}

TEST(Visits, OfTimesTheLowestAreTheBest) {
    const Summary time = summarise({6.0, 6.0, 6.0, 9.0, 9.0, 9.0}, visits_of({3, 3}));
    const std::optional<Plateau> plateau = plateau_of(time, visits_of({3, 3}), Best::lowest);
    ASSERT_TRUE(plateau);
    EXPECT_LT(plateau->value, 6.1);
    EXPECT_NEAR(plateau->behind, 0.5, 1e-9);
}

TEST(Visits, OneWildSampleOfFewIsNoPlateau) {
    const Summary rate = summarise({50, 50, 50, 50, 50, 50, 50, 55}, visits_of({4, 4}));
    const std::optional<Plateau> plateau = plateau_of(rate, visits_of({4, 4}));
    ASSERT_TRUE(plateau);
    EXPECT_EQ(plateau->value, 50);
}

TEST(Visits, DisturbedDifferencesOfTimesHaveNoPlateau) {
    const Summary time = summarise({-0.3, -0.2, 6.0, -0.3, 6.0, 9.0}, visits_of({3, 3}));
    EXPECT_FALSE(plateau_of(time, visits_of({3, 3}), Best::lowest)) << "nothing takes less than no time";
}

}  // namespace
}  // namespace nearfar
