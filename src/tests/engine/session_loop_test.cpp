#include "engine/session_loop.h"

#include <gtest/gtest.h>

#include "core/clock.h"
#include "core/error.h"

namespace nearfar {
namespace {

TEST(SessionLoop, OneBadCellDoesNotEndTheRest) {
    Session session;
    int calls = 0;
    measure_in_order(
        {parse_cell("n0:g0"), parse_cell("n0:g1"), parse_cell("n0:g2")}, Policy{}, 0, session,
        [](std::size_t, std::size_t, const std::string&) {},
        [&](const Cell& cell, double) {
            ++calls;
            if (cell.text() == "n0:g0") throw Prevented("busy", "taken");
            if (cell.text() == "n0:g1") throw Failure("lost", "gone");
            return std::vector<CellResult>(1);
        });
    EXPECT_EQ(calls, 3);
    ASSERT_EQ(session.skipped.size(), 1U);
    EXPECT_EQ(session.skipped[0].code, "busy");
    ASSERT_EQ(session.failed.size(), 1U);
    EXPECT_EQ(session.failed[0].cell, "n0:g1");
    EXPECT_EQ(session.results.size(), 1U);
}

TEST(SessionLoop, AbsentEndpointsAreWrongUseOrFailAlone) {
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

TEST(SessionLoop, AnUsedUpBudgetIsSaid) {
    Session session;
    Policy policy;
    policy.budget = 1e-9;
    measure_in_order(
        {parse_cell("n0:g0")}, policy, 0, session, [](std::size_t, std::size_t, const std::string&) {},
        [](const Cell&, double) { return std::vector<CellResult>(1); });
    ASSERT_EQ(session.skipped.size(), 1U);
    EXPECT_EQ(session.skipped[0].code, "budget");
}

TEST(SessionLoop, WindowsGetMoreOfABudgetThanLoneFlows) {
    Session session;
    Policy policy;
    policy.budget = 10;
    std::vector<double> shares;
    measure_in_order(
        {parse_cell("n0:g0"), parse_cell("n0:g0+g0:n0"), parse_cell("g0:n0")}, policy, now(), session,
        [](std::size_t, std::size_t, const std::string&) {},
        [&](const Cell&, double seconds) {
            shares.push_back(seconds);
            return std::vector<CellResult>(1);
        });
    ASSERT_EQ(shares.size(), 3U);
    EXPECT_NEAR(shares[0], 10.0 / 8, 0.1);
    EXPECT_NEAR(shares[1], 10.0 * 6 / 7, 0.1);
    EXPECT_NEAR(shares[2], 10.0, 0.1) << "what the others left is the last one's";
}

}  // namespace
}  // namespace nearfar
