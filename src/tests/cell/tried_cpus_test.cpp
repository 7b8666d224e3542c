#include "cell/visited.h"

#include <gtest/gtest.h>

namespace nearfar {
namespace {

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

TEST(TriedCpus, ALatencysCpusAreThoseOfItsBestVisit) {
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
