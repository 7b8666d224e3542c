#include "cell/tail_figures.h"

#include <gtest/gtest.h>

#include "cell/visited.h"

namespace nearfar {
namespace {

// A visit of 200 transfers that take 300 us each, but for one.
CellResult visit(double begin, double slow) {
    std::vector<double> times(200, 300.0);
    times[150] = slow;
    CellResult result;
    result.quantity = "tail";
    result.unit = "us";
    result.cell = parse_key("n0:g2 tail");
    result.total = summarise(times);
    result.slowest = Slowest{slow, begin + 0.045};
    result.visits = {{begin, begin + 0.06, times.size()}};
    result.flows.resize(1);
    result.flows[0].flow = result.cell.flows[0];
    result.flows[0].rate = result.total;
    result.converged = true;
    return result;
}

TEST(TailFigures, OneInAThousandIsTheWorstAndInNoPercentileThatAMedianSees) {
    std::vector<CellResult> known;
    for (int i = 0; i < 5; ++i) add_visit(known, {visit(100 + i, i == 3 ? 16 * 300.0 : 300)});
    const TailFigures found = tail_figures(known[0], 90);
    EXPECT_EQ(found.count, 1000U);
    EXPECT_EQ(found.p50, 300);
    EXPECT_EQ(found.p99, 300);
    EXPECT_EQ(found.worst, 4800);
    EXPECT_NEAR(found.worst_at, 13.045, 1e-9);
    EXPECT_EQ(found.worst_visit, 4U);
    EXPECT_FALSE(known[0].total.plateau) << "what a path can do is no figure of a tail";
}

TEST(TailFigures, EachVisitIsMadeHoweverAlikeTheyAre) {
    Policy policy;
    policy.tail = 1000;
    std::vector<CellResult> known;
    for (int i = 0; i < 4; ++i) add_visit(known, {visit(i, 300)});
    EXPECT_FALSE(is_visited_enough(known, policy));
    add_visit(known, {visit(4, 300)});
    EXPECT_TRUE(is_visited_enough(known, policy));
}

TEST(TailFigures, ManyTransfersAreSpreadOverMoreVisitsAndFewOverNoMoreThanTheyAre) {
    Policy policy;
    policy.tail = 100000;
    EXPECT_EQ(tail_visits(policy), 200);
    policy.tail = 3;
    EXPECT_EQ(tail_visits(policy), 3);
    policy.tail = 1000;
    policy.visits = 8;
    EXPECT_EQ(tail_visits(policy), 8);
}

}  // namespace
}  // namespace nearfar
