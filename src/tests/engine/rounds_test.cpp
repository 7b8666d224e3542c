#include "engine/rounds.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "core/clock.h"
#include "core/error.h"
#include "core/interrupt.h"

namespace nearfar {
namespace {

// One visit that saw this rate.
std::vector<CellResult> seen(const Cell& cell, double rate) {
    CellResult result;
    result.cell = cell;
    result.total = summarise(std::vector<double>(6, rate));
    result.flows.resize(cell.flows.size());
    for (FlowResult& flow : result.flows) flow.rate = result.total;
    result.visits = {{0, 0, 6}};
    result.converged = true;
    return {result};
}

Policy without_pauses() {
    Policy policy;
    policy.between_visits = 0;
    return policy;
}

std::vector<Cell> cells_of(const std::vector<std::string>& texts) {
    std::vector<Cell> cells;
    for (const std::string& text : texts) cells.push_back(parse_cell(text));
    return cells;
}

const Progress silent = [](const Step&) {};

TEST(Rounds, AQuietCellIsVisitedThreeTimes) {
    Session session;
    measure_in_rounds(cells_of({"n0:g0", "n0:g1"}), without_pauses(), 0, session, silent,
                      [](const Cell& cell, double, int) { return seen(cell, 55); });
    ASSERT_EQ(session.results.size(), 2U);
    for (const CellResult& result : session.results) {
        EXPECT_EQ(result.visits.size(), 3U);
        EXPECT_EQ(result.total.n(), 18U);
        EXPECT_TRUE(result.converged);
        ASSERT_TRUE(result.total.plateau);
        EXPECT_EQ(result.total.plateau->value, 55);
        EXPECT_EQ(result.flows[0].rate.plateau->value, 55);
    }
    EXPECT_TRUE(session.so_far.empty());
}

TEST(Rounds, ANoisyOneIsVisitedUntilItsBestIsReachedAgain) {
    Session session;
    const std::vector<double> rates{51, 51.2, 55, 53, 54.9, 50, 54.9, 55};
    measure_in_rounds(cells_of({"n0:g0"}), without_pauses(), 0, session, silent,
                      [&](const Cell& cell, double, int round) { return seen(cell, rates[static_cast<std::size_t>(round)]); });
    ASSERT_EQ(session.results.size(), 1U);
    EXPECT_EQ(session.results[0].visits.size(), 7U);
    EXPECT_TRUE(session.results[0].converged);
    EXPECT_GT(session.results[0].total.plateau->value, 54.7);
    EXPECT_LT(session.results[0].total.plateau->steadiness, 0.98);
}

TEST(Rounds, WhatIsNeverReachedAgainEndsAtTheMostVisitsAndSaysSo) {
    Session session;
    measure_in_rounds(cells_of({"n0:g0"}), without_pauses(), 0, session, silent,
                      [&](const Cell& cell, double, int round) { return seen(cell, 50 + round); });
    ASSERT_EQ(session.results.size(), 1U);
    EXPECT_EQ(session.results[0].visits.size(), 8U);
    EXPECT_FALSE(session.results[0].converged);
}

TEST(Rounds, TasksThatShareAFlowHaveNoPlateau) {
    Session session;
    measure_in_rounds(cells_of({"n0:g0/x2"}), without_pauses(), 0, session, silent,
                      [&](const Cell& cell, double, int) { return seen(cell, 25); });
    ASSERT_EQ(session.results.size(), 1U);
    EXPECT_FALSE(session.results[0].total.plateau);
    EXPECT_EQ(session.results[0].total.median, 25);
    EXPECT_TRUE(session.results[0].converged);
}

TEST(Rounds, NeighboursOfTheListAreNotVisitedOneAfterTheOther) {
    for (std::size_t cells = 5; cells < 100; ++cells) {
        for (int round = 0; round < 3; ++round) {
            const std::vector<std::size_t> order = order_of_round(cells, round);
            ASSERT_EQ(std::set<std::size_t>(order.begin(), order.end()).size(), cells) << "every cell once";
            for (std::size_t i = 1; i < cells; ++i)
                EXPECT_GT(std::abs(static_cast<long>(order[i]) - static_cast<long>(order[i - 1])), 1) << cells << " cells";
        }
    }
}

TEST(Rounds, OneBadCellDoesNotEndTheRest) {
    Session session;
    int calls = 0;
    measure_in_rounds(cells_of({"n0:g0", "n0:g1", "n0:g2"}), without_pauses(), 0, session, silent,
                      [&](const Cell& cell, double, int) {
                          ++calls;
                          if (cell.text() == "n0:g0") throw Prevented("busy", "taken");
                          if (cell.text() == "n0:g1") throw Failure("lost", "gone");
                          return seen(cell, 55);
                      });
    EXPECT_EQ(calls, 5);
    ASSERT_EQ(session.skipped.size(), 1U);
    EXPECT_EQ(session.skipped[0].code, "busy");
    ASSERT_EQ(session.failed.size(), 1U);
    EXPECT_EQ(session.failed[0].cell, "n0:g1");
    EXPECT_EQ(session.results.size(), 1U);
}

TEST(Rounds, WhatFailsInALaterVisitHasFailed) {
    Session session;
    measure_in_rounds(cells_of({"n0:g0"}), without_pauses(), 0, session, silent, [&](const Cell& cell, double, int round) {
        if (round == 1) throw Failure("wrong_data", "words are wrong");
        return seen(cell, 55);
    });
    EXPECT_TRUE(session.results.empty());
    ASSERT_EQ(session.failed.size(), 1U);
    EXPECT_EQ(session.failed[0].code, "wrong_data");
    EXPECT_TRUE(session.so_far.empty());
}

TEST(Rounds, WhatPreventsALaterVisitLeavesTheCellWithThoseItHad) {
    Session session;
    measure_in_rounds(cells_of({"n0:g0"}), without_pauses(), 0, session, silent, [&](const Cell& cell, double, int round) {
        if (round == 2) throw Prevented("interrupted", "interrupted while it was measured");
        return seen(cell, 55);
    });
    ASSERT_EQ(session.results.size(), 1U);
    EXPECT_EQ(session.results[0].visits.size(), 2U);
    EXPECT_FALSE(session.results[0].converged);
    EXPECT_TRUE(session.skipped.empty());
    EXPECT_TRUE(session.interrupted);
}

TEST(Rounds, ACellThatGoesOnIsToldSoFar) {
    Session session;
    std::vector<std::size_t> told;
    measure_in_rounds(
        cells_of({"n0:g0"}), without_pauses(), 0, session,
        [&](const Step& step) {
            EXPECT_EQ(step.cells, std::vector<std::string>{"n0:g0"});
            told.push_back(session.so_far.count("n0:g0") ? session.so_far["n0:g0"].front().visits.size() : 0);
        },
        [](const Cell& cell, double, int) { return seen(cell, 55); });
    EXPECT_EQ(told, (std::vector<std::size_t>{0, 1, 2}));
}

TEST(Rounds, AbsentEndpointsAreWrongUseOrFailAlone) {
    Node node;
    node.numa_nodes = {{0, 0, {0}, 1 << 30}};
    Session session;
    std::vector<Cell> cells{parse_cell("c0:n0/copy"), parse_cell("c0:n7/copy")};
    EXPECT_THROW(set_absent_aside(cells, node, false, session), WrongUse);
    set_absent_aside(cells, node, true, session);
    ASSERT_EQ(cells.size(), 1U);
    EXPECT_EQ(cells[0].text(), "c0:n0/copy");
    ASSERT_EQ(session.failed.size(), 1U);
    EXPECT_EQ(session.failed[0].code, "absent");
    EXPECT_EQ(session.failed[0].reason, "there is no n7: this node has NUMA nodes 0");
}

TEST(Rounds, AnUsedUpBudgetIsSaid) {
    Session session;
    Policy policy;
    policy.budget = 1e-9;
    measure_in_rounds(cells_of({"n0:g0"}), policy, 0, session, silent,
                      [](const Cell& cell, double, int) { return seen(cell, 55); });
    ASSERT_EQ(session.skipped.size(), 1U);
    EXPECT_EQ(session.skipped[0].code, "budget");
}

TEST(Rounds, ABudgetThatEndsBeforeTheSecondVisitClaimsNoPlateau) {
    Session session;
    Policy policy = without_pauses();
    policy.budget = 0.05;
    measure_in_rounds(cells_of({"n0:g0"}), policy, now(), session, silent, [](const Cell& cell, double, int) {
        for (const double end = now() + 0.06; now() < end;) continue;
        return seen(cell, 55);
    });
    ASSERT_EQ(session.results.size(), 1U);
    EXPECT_FALSE(session.results[0].total.plateau);
    EXPECT_FALSE(session.results[0].converged);
}

TEST(Rounds, WindowsGetMoreOfABudgetThanLoneFlows) {
    Session session;
    Policy policy = without_pauses();
    policy.budget = 10;
    std::map<std::string, double> shares;
    measure_in_rounds(cells_of({"n0:g0", "n0:g0+g0:n0", "g0:n0"}), policy, now(), session, silent,
                      [&](const Cell& cell, double seconds, int round) {
                          if (round == 0) shares[cell.text()] = seconds;
                          return seen(cell, 55);
                      });
    ASSERT_EQ(shares.size(), 3U);
    EXPECT_NEAR(shares["n0:g0"], 10.0 / 8, 0.1);
    EXPECT_GT(shares["n0:g0+g0:n0"], 10.0 * 6 / 8 - 0.1);
}

TEST(Rounds, AThousandCellsAreNoTrouble) {
    Session session;
    std::vector<Cell> cells;
    for (int i = 0; i < 1000; ++i) cells.push_back(parse_cell("n" + std::to_string(i) + ":g0"));
    measure_in_rounds(cells, without_pauses(), 0, session, silent, [](const Cell& cell, double, int) { return seen(cell, 55); });
    EXPECT_EQ(session.results.size(), 1000U);
}

}  // namespace
}  // namespace nearfar
