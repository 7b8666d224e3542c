#include <gtest/gtest.h>

#include "core/error.h"
#include "mpi/contention/contention_results.h"
#include "tests/mpi/contention/refusal.h"

namespace nearfar {
namespace {

// Two NUMA nodes with so many cores each, of two threads: the second thread of core N is CPU N + 100. Node 2 is a GPU's memory.
Node two_nodes(int cores) {
    Node node;
    node.hostname = "node";
    for (int index = 0; index < 3; ++index) {
        NumaNode numa;
        numa.index = index;
        numa.is_gpu_memory = index == 2;
        for (int core = 0; index < 2 && core < cores; ++core) {
            numa.cpus.push_back(index * cores + core);
            node.one_cpu_a_core.push_back(index * cores + core);
        }
        for (int core = 0; index < 2 && core < cores; ++core) numa.cpus.push_back(100 + index * cores + core);
        node.numa_nodes.push_back(numa);
    }
    return node;
}

TEST(NumaPairs, AreReadAsTheyStand) {
    const std::vector<NumaPair> pairs = parse_numa_pairs("0-0,3-1");
    ASSERT_EQ(pairs.size(), 2U);
    EXPECT_EQ(pairs[1].first, 3);
    EXPECT_EQ(pairs[1].second, 1);
}

TEST(NumaPairs, WhatIsNoPairIsNamed) {
    EXPECT_NE(refusal([] { parse_numa_pairs("0"); }).find("'0': expected the NUMA nodes of two ranks"), std::string::npos);
    EXPECT_NE(refusal([] { parse_numa_pairs("0-x"); }).find("--between"), std::string::npos);
    EXPECT_NE(refusal([] { parse_numa_pairs("0-1-1"); }).find("--between"), std::string::npos);
    EXPECT_NE(refusal([] { parse_numa_pairs(""); }).find("--between"), std::string::npos);
    EXPECT_NE(refusal([] { parse_numa_pairs("0-1,1-0"); }).find("n1-n0 is named twice"), std::string::npos);
}

TEST(NumaPairs, EachRankHasACoreOfItsNode) {
    EXPECT_EQ(cpus_of_pairs(two_nodes(4), {{0, 0}, {0, 1}, {1, 1}}), (std::vector<int>{0, 1, 2, 4, 5, 6}));
}

TEST(NumaPairs, ShareCoresAmongThemselvesAndNeverWithin) {
    EXPECT_EQ(cpus_of_pairs(two_nodes(2), {{0, 0}, {0, 1}, {1, 1}}), (std::vector<int>{0, 1, 0, 2, 3, 2}));
    const std::string one = refusal([] { cpus_of_pairs(two_nodes(1), {{0, 0}}); });
    EXPECT_NE(one.find("NUMA node 0 has one core that this process may use"), std::string::npos) << one;
}

TEST(NumaPairs, ANodeWithoutCoresOrWithForbiddenOnesIsNamed) {
    const std::string gpu = refusal([] { cpus_of_pairs(two_nodes(2), {{0, 2}}); });
    EXPECT_NE(gpu.find("no cores on NUMA node 2; it has some on: 0, 1"), std::string::npos) << gpu;
    EXPECT_NE(refusal([] { cpus_of_pairs(two_nodes(2), {{0, 7}}); }).find("NUMA node 7"), std::string::npos);
    Node forbidden = two_nodes(2);
    forbidden.one_cpu_a_core = {0, 1};
    const std::string none = refusal([&] { cpus_of_pairs(forbidden, {{0, 1}}); });
    EXPECT_NE(none.find("NUMA node 1 has no core that this process may use"), std::string::npos) << none;
}

TEST(NumaPairs, TakePartOneAfterTheOther) {
    const std::vector<Arrangement> found = arrangements_of_pairs({{"a", {0, 1, 2, 3}}}, {{0, 0}, {0, 1}});
    ASSERT_EQ(found.size(), 2U);
    EXPECT_EQ(found[1].word, "n0-n1");
    EXPECT_TRUE(found[0].has_pair(0) && !found[0].has_pair(1) && !found[1].has_pair(0) && found[1].has_pair(1));
}

TEST(NumaPairs, TheNumberOfRanksIsSaid) {
    const std::vector<NumaPair> pairs{{0, 0}, {0, 1}};
    EXPECT_NE(refusal([&] { arrangements_of_pairs({{"a", {0}}}, pairs); }).find("nobody to talk to: start 4"), std::string::npos);
    EXPECT_NE(refusal([&] { arrangements_of_pairs({{"a", {0, 1, 2}}}, pairs); }).find("start 4 ranks, not 3"), std::string::npos);
    EXPECT_NE(refusal([&] {
                  arrangements_of_pairs({{"a", {0, 1}}, {"b", {2, 3}}}, pairs);
              }).find("within one host"),
              std::string::npos);
}

TEST(NumaPairs, EachHasFiguresOfItsOwnRanks) {
    const std::vector<HostRanks> hosts{{"a", {0, 1, 2, 3}}};
    ContentionRun run;
    run.roles = roles_of(hosts, Layout::apart, 0);
    run.arrangements = arrangements_of_pairs(hosts, {{0, 0}, {0, 1}});
    run.traffics = {{Traffic::Kind::ping_pong, 8}};
    run.with = With::nothing;
    run.between = true;
    run.hosts = hosts;
    for (std::size_t pair = 0; pair < 2; ++pair) {
        std::vector<RankSeen> ranks(4);
        ranks[2 * pair].latency.p50 = 1.0 + static_cast<double>(pair);
        run.rounds[{pair, 0, Beside::nothing}].assign(6, ranks);
    }
    const std::vector<ContentionResult> results = contention_results(run);
    ASSERT_EQ(results.size(), 2U);
    EXPECT_EQ(results[1].subject, "n0-n1/pingpong_8B");
    ASSERT_EQ(results[1].tasks.size(), 1U);
    EXPECT_EQ(results[1].tasks[0].name, "r2:r3");
    EXPECT_EQ(results[0].total.median, 1);
    EXPECT_EQ(results[1].total.median, 2);
}

}  // namespace
}  // namespace nearfar
