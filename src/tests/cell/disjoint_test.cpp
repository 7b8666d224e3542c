#include "cell/disjoint.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "cell/matrix.h"

namespace nearfar {
namespace {

using Sets = std::vector<std::vector<std::string>>;

Sets sets_of(const std::vector<Cell>& cells, bool own_links = true) {
    Sets named;
    for (const std::vector<std::size_t>& set : disjoint_sets(cells, [&](const Flow&) { return own_links; })) {
        named.emplace_back();
        for (const std::size_t i : set) named.back().push_back(cells[i].text());
    }
    return named;
}

std::vector<Cell> cells_of(const std::vector<std::string>& texts) {
    std::vector<Cell> cells;
    for (const std::string& text : texts) cells.push_back(parse_cell(text));
    return cells;
}

std::vector<Cell> all_pairs(int gpus) {
    Node node;
    node.gpus.resize(static_cast<std::size_t>(gpus));
    return quick_matrix(node).cells;  // no NUMA node: pairs alone
}

TEST(Disjoint, PairsOfFourGpusGoTogetherTwoByTwo) {
    const Sets sets = sets_of(all_pairs(4));
    EXPECT_EQ(sets.size(), 12U);
    for (const auto& set : sets) EXPECT_EQ(set.size(), 2U) << set[0];
    EXPECT_EQ(sets[0], (std::vector<std::string>{"g0:g1", "g2:g3"}));
}

TEST(Disjoint, EveryCellIsInOneSetAndNoGpuTwiceInASet) {
    for (const int gpus : {2, 3, 5, 6, 8}) {
        const std::vector<Cell> cells = all_pairs(gpus);
        std::set<std::size_t> seen;
        for (const auto& set : disjoint_sets(cells, [](const Flow&) { return true; })) {
            std::set<int> used;
            for (const std::size_t i : set) {
                EXPECT_TRUE(seen.insert(i).second) << cells[i].text() << " twice";
                const Flow& flow = cells[i].flows[0];
                EXPECT_TRUE(used.insert(flow.source.index).second) << "shares a GPU: " << flow.text();
                EXPECT_TRUE(used.insert(flow.destination.index).second) << "shares a GPU: " << flow.text();
                EXPECT_EQ(flow.driver.has_value(), cells[set[0]].flows[0].driver.has_value()) << "writes among reads";
            }
        }
        EXPECT_EQ(seen.size(), cells.size()) << gpus << " GPUs";
    }
}

TEST(Disjoint, WhatSharesSomethingStaysAlone) {
    const std::vector<std::string> alone{"n0:g0",    "g1:n0",    "g0:g1/staged", "g2:g3/staged",
                                         "g0:g1/x2", "g2:g3/x2", "g0:g1+g1:g0",  "g2:g3+g3:g2"};
    for (const auto& set : sets_of(cells_of(alone))) EXPECT_EQ(set.size(), 1U) << set[0] << " beside " << set.back();
    for (const auto& set : sets_of(all_pairs(4), false)) EXPECT_EQ(set.size(), 1U) << "without links of their own";
}

TEST(Disjoint, EnginesAreNotMixedAndACellMayStandTwice) {
    EXPECT_EQ(sets_of(cells_of({"g0:g1", "g2:g3/sm", "g2:g3@g3", "g0:g1", "g2:g3", "g2:g3"})),
              (Sets{{"g0:g1", "g2:g3"}, {"g2:g3/sm"}, {"g2:g3@g3"}, {"g0:g1", "g2:g3"}}));
}

Sets company_of(const std::vector<Cell>& cells, bool own_links = true) {
    const auto kind = [](const Cell& cell) { return cell.flows[0].driver ? "read" : "write"; };
    Sets named;
    for (const auto& set : company_sets(
             cells, [&](const Flow&) { return own_links; }, kind)) {
        named.emplace_back();
        for (const std::size_t i : set) named.back().push_back(cells[i].text());
    }
    return named;
}

TEST(Company, EightGpusAreFourPairsAtATimeAndTheFirstOfEachKindAlone) {
    const std::vector<Cell> cells = all_pairs(8);
    std::map<std::size_t, int> sizes;
    std::size_t count = 0;
    for (const auto& set : company_of(cells)) {
        ++sizes[set.size()];
        count += set.size();
    }
    EXPECT_EQ(sizes, (std::map<std::size_t, int>{{1, 2}, {3, 2}, {4, 26}})) << "14 sets each of writes and of reads";
    EXPECT_EQ(count, cells.size());
    EXPECT_EQ(company_of(cells)[0], std::vector<std::string>{"g0:g1"});
}

TEST(Company, ACellThatStandsTwiceIsAlone) {
    EXPECT_EQ(company_of(cells_of({"g0:g1", "g2:g3", "g4:g5", "g6:g7", "g2:g3"})),
              (Sets{{"g0:g1"}, {"g4:g5", "g6:g7"}, {"g2:g3"}, {"g2:g3"}}));
}

TEST(Company, FourGpusAreNotWorthIt) {
    for (const auto& set : company_of(all_pairs(4))) EXPECT_EQ(set.size(), 1U) << set[0];
    for (const auto& set : company_of(all_pairs(8), false)) EXPECT_EQ(set.size(), 1U) << "without links of their own";
}

}  // namespace
}  // namespace nearfar
