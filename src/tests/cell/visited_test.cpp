#include "cell/visited.h"

#include <gtest/gtest.h>

namespace nearfar {
namespace {

CellResult seen(const std::vector<double>& samples, double ceiling) {
    CellResult result;
    result.cell = parse_cell("n0:g0");
    result.total = summarise(samples);
    result.flows.resize(1);
    result.flows[0].rate = result.total;
    result.flows[0].ceiling = ceiling;
    result.visits = {{0, 0, samples.size()}};
    result.converged = true;
    return result;
}

TEST(Visited, ASampleAboveTheCeilingIsLeftOutAndCounted) {
    std::vector<CellResult> known;
    add_visit(known, {seen({55, 55, 90, 55, 55, 55}, 58)});
    add_visit(known, {seen({55, 55, 55, 55, 55, 55}, 58)});
    ASSERT_EQ(known.size(), 1U);
    EXPECT_EQ(known[0].rejected, 1U);
    EXPECT_EQ(known[0].total.n(), 11U);
    EXPECT_EQ(known[0].visits[0].samples, 5U);
    EXPECT_EQ(known[0].flows[0].rate.n(), 11U);
    EXPECT_EQ(known[0].total.plateau->value, 55);
}

TEST(Visited, WhereEverySampleIsAboveItTheCeilingIsWrongAndAllStay) {
    std::vector<CellResult> known;
    add_visit(known, {seen({70, 70, 70, 70, 70, 70}, 58)});
    EXPECT_EQ(known[0].rejected, 0U);
    EXPECT_EQ(known[0].total.n(), 6U);
}

TEST(Visited, ThePlateausIntervalEndsAtTheCeiling) {
    std::vector<CellResult> known;
    add_visit(known, {seen(std::vector<double>(6, 40), 58)});
    add_visit(known, {seen(std::vector<double>(6, 55), 58)});
    EXPECT_LE(known[0].total.plateau->high, 58);
    EXPECT_FALSE(is_settled(known[0], Policy{}));
}

// A latency that one CPU gave in a visit.
std::vector<CellResult> driven_by(int cpu, double microseconds) {
    CellResult result;
    result.unit = "us";
    result.cell = parse_cell("n0:g0");
    result.visits = {{0, 0, 6}};
    result.total = summarise(std::vector<double>(6, microseconds));
    FlowResult flow;
    flow.rate = result.total;
    flow.cpus = {cpu};
    flow.tried = {{flow.cpus, microseconds}};
    result.flows = {flow};
    return {result};
}

TEST(Visited, ALatencysCpusAreThoseOfItsBestVisit) {
    std::vector<CellResult> known;
    const double times[] = {10, 36, 35, 30, 11};  // the fourth is better than the median of those before
    for (int cpu = 0; cpu < 5; ++cpu) add_visit(known, driven_by(cpu, times[cpu]));
    EXPECT_EQ(known[0].flows[0].tried.size(), 5U);
    EXPECT_EQ(known[0].flows[0].cpus, std::vector<int>{0});
    add_visit(known, driven_by(7, 9));
    EXPECT_EQ(known[0].flows[0].cpus, std::vector<int>{7});
}

}  // namespace
}  // namespace nearfar
