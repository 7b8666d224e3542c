#include "kernels/saxpy/saxpy_figures.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace nearfar {
namespace {

// Of ranks with these useful and elapsed times.
std::vector<RankRound> ranks_of(const std::vector<std::pair<double, double>>& times) {
    std::vector<RankRound> ranks;
    for (const auto& [useful, elapsed] : times) ranks.push_back({0, 0, 0, useful, elapsed - useful, elapsed});
    return ranks;
}

TEST(Pop, ByHand) {
    // Useful 6, 8, 10, 8 of a run of 12.5 s: mean 8, greatest 10.
    const Efficiencies found = efficiencies(ranks_of({{6, 12}, {8, 12.5}, {10, 12}, {8, 12}}));
    EXPECT_DOUBLE_EQ(found.load_balance, 0.8);
    EXPECT_DOUBLE_EQ(found.communication, 0.8);
    EXPECT_DOUBLE_EQ(found.parallel, 0.64);
}

TEST(Pop, TheParallelEfficiencyIsTheMeanUsefulTimeOverTheRunTime) {
    const Efficiencies found = efficiencies(ranks_of({{3, 7}, {5, 7}, {4, 7}}));
    EXPECT_DOUBLE_EQ(found.parallel, 4.0 / 7);
}

TEST(Pop, EqualRanksThatNeverWaitArePerfect) {
    const Efficiencies found = efficiencies(ranks_of({{2, 2}, {2, 2}}));
    EXPECT_DOUBLE_EQ(found.load_balance, 1);
    EXPECT_DOUBLE_EQ(found.communication, 1);
    EXPECT_DOUBLE_EQ(found.parallel, 1);
}

TEST(Pop, OneRankIsBalanced) { EXPECT_DOUBLE_EQ(efficiencies(ranks_of({{1, 4}})).load_balance, 1); }

TEST(Pop, HoldsForAnyRanks) {
    std::mt19937 random(1);
    std::uniform_real_distribution<double> times(0.001, 10);
    for (int round = 0; round < 1000; ++round) {
        std::vector<RankRound> ranks;
        for (int rank = 0; rank < 1 + round % 8; ++rank) {
            const double useful = times(random);
            ranks.push_back({0, 0, 0, useful, 0, useful + times(random)});
        }
        const Efficiencies found = efficiencies(ranks);
        EXPECT_GE(found.load_balance, 1.0 / static_cast<double>(ranks.size()));
        EXPECT_LE(found.load_balance, 1);
        EXPECT_LE(found.communication, 1);
        EXPECT_DOUBLE_EQ(found.parallel, found.load_balance * found.communication);
        // Neither the unit of time nor the order of the ranks matters, and a run that is twice as long with the same work halves it.
        std::reverse(ranks.begin(), ranks.end());
        double longest = 0;
        for (RankRound& rank : ranks) {
            rank.useful *= 1000;
            rank.elapsed *= 1000;
            longest = std::max(longest, rank.elapsed);
        }
        EXPECT_NEAR(efficiencies(ranks).parallel, found.parallel, 1e-12);
        ranks.front().elapsed = 2 * longest;
        EXPECT_NEAR(efficiencies(ranks).communication, found.communication / 2, 1e-12);
    }
}

}  // namespace
}  // namespace nearfar
