#include "mpi/contention/contention_plan.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/error.h"
#include "tests/mpi/contention/refusal.h"

namespace nearfar {
namespace {

HostRanks host(const std::string& name, int first, int count) {
    HostRanks ranks{name, {}};
    for (int i = 0; i < count; ++i) ranks.ranks.push_back(first + i);
    return ranks;
}

// Two packages with a NUMA node and so many cores each; GPUs 0 and 1 on node 0, 2 and 3 on node 1.
Node two_packages(int cores) {
    Node node;
    node.hostname = "node";
    for (int numa = 0; numa < 2; ++numa) {
        NumaNode found;
        found.index = numa;
        found.package = numa;
        found.memory = 1 << 30;
        for (int core = 0; core < cores; ++core) found.cpus.push_back(numa * cores + core);
        node.packages.push_back({numa, found.cpus});
        node.numa_nodes.push_back(found);
        for (const int cpu : found.cpus) node.allowed_cpus.push_back(cpu);
        for (int gpu = 0; gpu < 2; ++gpu) {
            PciGpu device;
            device.numa_node = numa;
            device.package = numa;
            node.gpus.push_back(device);
        }
    }
    node.one_cpu_a_core = node.allowed_cpus;
    return node;
}

std::vector<RankRole> of_host(const std::vector<RankRole>& roles, std::size_t which) {
    std::vector<RankRole> here;
    for (const RankRole& role : roles)
        if (role.host == which) here.push_back(role);
    return here;
}

TEST(Roles, TheFirstRanksOfAHostMoveAndTheOthersArePaired) {
    const std::vector<RankRole> roles = roles_of({host("a", 0, 8)}, Layout::apart, 2);
    EXPECT_EQ(roles[1].mover, 1);
    EXPECT_FALSE(roles[1].communicator);
    EXPECT_FALSE(roles[2].mover);
    EXPECT_EQ(roles[2].communicator->partner, 3);
    EXPECT_EQ(roles[3].communicator->partner, 2);
    EXPECT_TRUE(roles[2].communicator->initiates);
    EXPECT_FALSE(roles[3].communicator->initiates);
    EXPECT_EQ(roles[7].communicator->pair, 2);
}

TEST(Roles, BetweenHostsEveryPairHasBothHosts) {
    const std::vector<RankRole> roles =
        roles_of({host("a", 0, 3), host("b", 3, 3), host("c", 6, 3), host("d", 9, 3)}, Layout::apart, 1);
    EXPECT_EQ(roles[1].communicator->partner, 4);
    EXPECT_EQ(roles[4].communicator->partner, 1);
    EXPECT_TRUE(roles[1].communicator->initiates);
    EXPECT_EQ(roles[11].communicator->partner, 8);
    EXPECT_EQ(roles[11].communicator->pair, 3);
    EXPECT_EQ(roles[11].communicator->on_host, 1);
}

TEST(Roles, AnOddNumberOfMpiRanksIsPairedBetweenHosts) {
    EXPECT_NO_THROW(roles_of({host("a", 0, 3), host("b", 3, 3)}, Layout::apart, 0));
    EXPECT_NE(refusal([] { roles_of({host("a", 0, 3)}, Layout::apart, 0); }).find("cannot be paired"), std::string::npos);
}

TEST(Roles, WhatCannotBePairedIsRefusedWithTheRemedy) {
    EXPECT_NE(refusal([] { roles_of({host("a", 0, 1)}, Layout::apart, 0); }).find("at least two"), std::string::npos);
    EXPECT_NE(refusal([] { roles_of({host("a", 0, 5)}, Layout::apart, 4); }).find("at least 6"), std::string::npos);
    EXPECT_NE(refusal([] {
                  roles_of({host("a", 0, 2), host("b", 2, 4)}, Layout::apart, 0);
              }).find("every host"),
              std::string::npos);
    EXPECT_NE(refusal([] {
                  roles_of({host("a", 0, 2), host("b", 2, 2), host("c", 4, 2)}, Layout::apart, 0);
              }).find("pairs of hosts"),
              std::string::npos);
    EXPECT_NE(refusal([] { roles_of({host("a", 0, 4)}, Layout::split, 4); }).find("start 8"), std::string::npos);
}

TEST(Roles, TogetherTheMoverIsInARankThatTalks) {
    const std::vector<RankRole> roles = roles_of({host("a", 0, 4)}, Layout::together, 2);
    EXPECT_EQ(roles[1].mover, 1);
    EXPECT_EQ(roles[1].communicator->partner, 3);
    EXPECT_TRUE(roles[1].communicator->initiates) << "the side whose latency is told is the one that also moves";
    EXPECT_FALSE(roles[3].mover);
    const std::vector<RankRole> across = roles_of({host("a", 0, 2), host("b", 2, 2)}, Layout::split, 2);
    EXPECT_EQ(across[1].communicator->partner, 3);
    EXPECT_EQ(across[3].mover, 1);
}

TEST(Arrangements, OnePairATaskAndAllThereAre) {
    const auto words = [](int ranks, int movers, Layout layout) {
        std::string all;
        for (const Arrangement& found : arrangements_of(roles_of({host("a", 0, ranks)}, layout, movers), {layout}, movers))
            all += found.word + ":" + std::to_string(found.movers) + ":" + std::to_string(found.pairs) + " ";
        return all;
    };
    EXPECT_EQ(words(12, 4, Layout::apart), "per_task:4:4 ");
    EXPECT_EQ(words(64, 4, Layout::apart), "per_task:4:4 all_cores:4:30 ");
    EXPECT_EQ(words(8, 4, Layout::apart), "pairs:4:2 ");
    EXPECT_EQ(words(4, 0, Layout::apart), "mpi_only:0:2 ");
    EXPECT_EQ(words(6, 3, Layout::split), "split:1:1 split:2:2 split:3:3 ");
    const std::vector<RankRole> roles = roles_of({host("a", 0, 4)}, Layout::together, 2);
    EXPECT_EQ(arrangements_of(roles, {Layout::together, Layout::split}, 2).size(), 4U) << "each number of movers in each layout";
}

TEST(Movers, CopyBothWaysBesideTheGpusOwnMemory) {
    const Node node = two_packages(8);
    ContentionAsk ask;
    EXPECT_EQ(mover_cell(node, ask, 3).text(), "n1:g3+g3:n1");
    ask.to_host = false;
    EXPECT_EQ(mover_cell(node, ask, 0).text(), "n0:g0");
    ask.with = With::stream;
    EXPECT_EQ(mover_cell(node, ask, 3).text(), "c1:n1/copy");
    EXPECT_EQ(usual_movers(node, With::gpu), 4);
    EXPECT_EQ(usual_movers(node, With::stream), 2);
    EXPECT_THROW(usual_movers(Node{}, With::gpu), Prevented);
}

TEST(Places, EveryThreadHasACoreOfItsOwnNearItsGpu) {
    const Node node = two_packages(8);
    const std::vector<RankRole> roles = roles_of({host("a", 0, 12)}, Layout::apart, 4);
    const std::vector<RankCpus> placed = place_threads(node, roles, {}, Layout::apart, {});
    std::vector<int> taken;
    for (const RankCpus& cpus : placed) {
        taken.insert(taken.end(), cpus.mpi.begin(), cpus.mpi.end());
        for (const std::vector<int>& flow : cpus.moving) taken.insert(taken.end(), flow.begin(), flow.end());
    }
    std::sort(taken.begin(), taken.end());
    EXPECT_EQ(taken, node.one_cpu_a_core) << "sixteen threads on sixteen cores";
    EXPECT_GE(placed[2].moving[0][0], 8) << "g2 is on NUMA node 1";
    EXPECT_GE(placed[8].mpi[0], 8) << "the third pair is that of the third mover";
}

TEST(Places, MpiSpillsWhereItsNodeIsFull) {
    const Node node = two_packages(4);
    ContentionAsk ask;
    ask.to_host = false;
    ask.tasks = 1;
    const std::vector<RankCpus> placed =
        place_threads(node, roles_of({host("a", 0, 7)}, Layout::apart, 1), ask, Layout::apart, {});
    EXPECT_LT(placed[3].mpi[0], 4);
    EXPECT_GE(placed[6].mpi[0], 4);
}

TEST(Places, TooFewCoresAreRefusedUnlessAsked) {
    const Node node = two_packages(1);
    const std::vector<RankRole> roles = roles_of({host("a", 0, 4)}, Layout::apart, 0);
    ContentionAsk ask;
    ask.with = With::nothing;
    EXPECT_NE(refusal([&] { place_threads(node, roles, ask, Layout::apart, {}); }).find("4 threads on node want a core each"),
              std::string::npos);
    ask.oversubscribe = true;
    EXPECT_NO_THROW(place_threads(node, roles, ask, Layout::apart, {}));
}

TEST(Places, SplitMovesTheMpiThreadToTheNicOrTheOtherPackage) {
    const Node node = two_packages(8);
    ContentionAsk ask;
    const std::vector<RankRole> roles = of_host(roles_of({host("a", 0, 4), host("b", 4, 4)}, Layout::together, 4), 0);
    EXPECT_LT(place_threads(node, roles, ask, Layout::together, {})[0].mpi[0], 8);
    EXPECT_GE(place_threads(node, roles, ask, Layout::split, {})[0].mpi[0], 8) << "no NIC: the other package than g0's";
    EXPECT_LT(place_threads(node, roles, ask, Layout::split, {})[2].mpi[0], 8) << "and than g2's";
    EXPECT_LT(place_threads(node, roles, ask, Layout::split, 0)[0].mpi[0], 8) << "the NIC is on NUMA node 0, as g0 is";
    EXPECT_LT(place_threads(node, roles, ask, Layout::split, 0)[2].mpi[0], 8);
}

TEST(Places, MoversHaveTheSameCoresInEveryLayout) {
    const Node node = two_packages(8);
    const std::vector<RankRole> roles = roles_of({host("a", 0, 4)}, Layout::together, 2);
    const std::vector<RankCpus> together = place_threads(node, roles, {}, Layout::together, {});
    const std::vector<RankCpus> split = place_threads(node, roles, {}, Layout::split, {});
    for (std::size_t i = 0; i < roles.size(); ++i) EXPECT_EQ(together[i].moving, split[i].moving);
}

TEST(Places, WhereThereIsNothingToSplitItIsSaid) {
    Node node = two_packages(8);
    node.numa_nodes[1].package = 0;
    ContentionAsk ask;
    const std::vector<RankRole> roles = roles_of({host("a", 0, 4)}, Layout::split, 2);
    EXPECT_NE(refusal([&] { place_threads(node, roles, ask, Layout::split, {}); }).find("nowhere to be split to"),
              std::string::npos);
}

TEST(Places, ACpusetThatHidesTheWishedNodeIsNamed) {
    Node node = two_packages(8);
    node.one_cpu_a_core = node.allowed_cpus = {0, 1, 2, 3, 4, 5, 6, 7};
    const std::vector<RankRole> roles = roles_of({host("a", 0, 6)}, Layout::apart, 4);
    EXPECT_NE(refusal([&] { place_threads(node, roles, {}, Layout::apart, {}); }).find("NUMA node 1 has no core"),
              std::string::npos);
}

}  // namespace
}  // namespace nearfar
