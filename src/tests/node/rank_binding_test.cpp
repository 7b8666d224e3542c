#include "node/rank_binding.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace nearfar {
namespace {

// Two packages of two NUMA nodes with two CPUs each; node 3 is the farthest from node 0.
Node four_nodes() {
    Node node;
    node.numa_nodes = {{0, 0, {0, 1}, 1 << 30}, {1, 0, {2, 3}, 1 << 30}, {2, 1, {4, 5}, 1 << 30}, {3, 1, {6, 7}, 1 << 30}};
    node.allowed_cpus = {0, 1, 2, 3, 4, 5, 6, 7};
    for (int from = 0; from < 4; ++from)
        for (int to = 0; to < 4; ++to) node.distances[{from, to}] = 10 + 2 * (from > to ? from - to : to - from);
    return node;
}

std::string code_of(const Node& node, const RankHome& home, Binding binding) {
    try {
        place_rank(node, home, binding);
        return "placed";
    } catch (const Prevented& why) {
        return why.code;
    }
}

TEST(RankBinding, DefaultIsTheLaunchersAndItsMemoryIsWhereTheRankRuns) {
    const RankPlacement placed = place_rank(four_nodes(), {{2, 3, 4}, 4, 0, 1, 0}, Binding::launcher);
    EXPECT_EQ(placed.cpus, (std::vector<int>{2, 3, 4}));
    EXPECT_EQ(placed.memory_node, 2);
}

TEST(RankBinding, FirstTouchOnANodeWithoutMemoryGoesToTheNearest) {
    Node node = four_nodes();
    node.numa_nodes[2].memory = 0;
    node.numa_nodes[3].allowed = false;
    EXPECT_EQ(place_rank(node, {{4}, 4, 0, 1, 0}, Binding::launcher).memory_node, 1);
}

TEST(RankBinding, GpuIsItsNumaNodeWhateverTheLauncherGave) {
    const RankPlacement placed = place_rank(four_nodes(), {{0}, 0, 2, 1, 0}, Binding::gpu);
    EXPECT_EQ(placed.cpus, (std::vector<int>{4, 5}));
    EXPECT_EQ(placed.memory_node, 2);
}

TEST(RankBinding, RanksThatShareANumaNodeShareItsCoresOut) {
    Node node = four_nodes();
    node.numa_nodes.resize(1);
    node.numa_nodes[0].cpus = {0, 1, 2, 3, 4, 5, 6, 7};
    node.one_cpu_a_core = {0, 1, 2, 3};  // 4 to 7 are their second threads
    EXPECT_EQ(place_rank(node, {{0}, 0, 0, 2, 0}, Binding::gpu).cpus, (std::vector<int>{0, 1}));
    EXPECT_EQ(place_rank(node, {{0}, 0, 0, 2, 1}, Binding::gpu).cpus, (std::vector<int>{2, 3}));
    EXPECT_EQ(place_rank(node, {{0}, 0, 0, 1, 0}, Binding::gpu).cpus.size(), 8U) << "alone it has every thread";
    EXPECT_EQ(place_rank(node, {{0}, 0, 0, 5, 4}, Binding::gpu).cpus.size(), 8U) << "more ranks than cores: nothing to share out";
}

TEST(RankBinding, WrongIsTheFarthestThatMayBeUsed) {
    Node node = four_nodes();
    EXPECT_EQ(place_rank(node, {{0}, 0, 0, 1, 0}, Binding::wrong).memory_node, 3);
    EXPECT_EQ(place_rank(node, {{0}, 0, 3, 1, 0}, Binding::wrong).memory_node, 0);
    node.numa_nodes[3].allowed = false;
    EXPECT_EQ(place_rank(node, {{0}, 0, 0, 1, 0}, Binding::wrong).cpus, (std::vector<int>{4, 5}));
    node.allowed_cpus = {0, 1, 2};
    EXPECT_EQ(place_rank(node, {{0}, 0, 0, 1, 0}, Binding::wrong).cpus, (std::vector<int>{2})) << "the cpuset hides CPU 3";
}

TEST(RankBinding, NothingIsWrongWhereThereIsOneNode) {
    Node node = four_nodes();
    node.numa_nodes.resize(1);
    EXPECT_EQ(code_of(node, {{0}, 0, 0, 1, 0}, Binding::wrong), "unsupported");
    EXPECT_EQ(code_of(node, {{0}, 0, 0, 1, 0}, Binding::gpu), "placed");
}

TEST(RankBinding, WhatIsNearIsNeverGuessed) {
    EXPECT_EQ(code_of(four_nodes(), {{0}, 0, {}, 1, 0}, Binding::gpu), "unsupported");
    EXPECT_EQ(code_of(four_nodes(), {{0}, 0, {}, 1, 0}, Binding::wrong), "unsupported");
    EXPECT_EQ(code_of(four_nodes(), {{0}, 0, {}, 1, 0}, Binding::launcher), "placed");
}

TEST(RankBinding, ACpusetThatHidesTheWishedNodePreventsIt) {
    Node node = four_nodes();
    node.allowed_cpus = {0, 1};
    EXPECT_EQ(code_of(node, {{0}, 0, 2, 1, 0}, Binding::gpu), "not_allowed");
}

TEST(RankBinding, TheOnlyNodeIsEverybodysHome) {
    Node node = four_nodes();
    EXPECT_FALSE(known_home(node, {}));
    EXPECT_EQ(known_home(node, 2), 2);
    node.numa_nodes.resize(1);
    node.numa_nodes.push_back({8, 0, {}, 1 << 30, true});
    EXPECT_EQ(known_home(node, {}), 0) << "a GPU's memory is nobody's home";
}

TEST(RankBinding, Words) {
    EXPECT_EQ(parse_bindings("gpu,default"), (std::vector<Binding>{Binding::gpu, Binding::launcher}));
    EXPECT_THROW(parse_bindings(""), WrongUse);
    EXPECT_THROW(parse_bindings("near"), WrongUse);
    EXPECT_THROW(parse_bindings("gpu,gpu"), WrongUse);
}

}  // namespace
}  // namespace nearfar
