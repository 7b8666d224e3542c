#include "copy/suspects.h"

#include <gtest/gtest.h>

namespace nearfar {
namespace {

std::vector<Figure> alike(const std::vector<double>& rates) {
    std::vector<Figure> figures;
    for (const double rate : rates) figures.push_back({"write", rate});
    return figures;
}

using Positions = std::vector<std::size_t>;

TEST(Suspects, MoreThanThreePerCentBelowTheMedian) {
    EXPECT_EQ(suspects(alike({396, 395, 200, 397, 383})), (Positions{2, 4}));
    EXPECT_EQ(suspects(alike({396, 395, 420, 397})), Positions{}) << "too fast is no suspect";
}

TEST(Suspects, ThreeDeviationsBelowTheMedianWhereTheKindIsQuiet) {
    // MAD 0.1: 3 × 1.4826 × 0.1 is far below half a per cent of 396, which then counts.
    EXPECT_EQ(suspects(alike({396, 396.1, 395.9, 396.1, 393})), (Positions{4}));
    EXPECT_EQ(suspects(alike({396, 396.1, 395.9, 396.1, 395.2})), Positions{}) << "0.2 % is what an interval may have";
    // MAD 1.5: 6.7 below the median is in doubt, 6 is not.
    EXPECT_EQ(suspects(alike({396, 397.5, 394.5, 396.2, 389})), (Positions{4}));
    EXPECT_EQ(suspects(alike({396, 397.5, 394.5, 396.2, 391})), Positions{});
}

TEST(Suspects, ANoisyKindHasNoLargerToleranceThanThreePerCent) {
    EXPECT_EQ(suspects(alike({100, 90, 110, 96, 104})), (Positions{1, 3}));
}

TEST(Suspects, InCompanyMoreThanOnePerCentBelowTheBestOfTheirKind) {
    EXPECT_EQ(below_best(alike({396, 392.2, 392, 200})), (Positions{2, 3}));
    EXPECT_EQ(below_best({{"write", 396}, {"read", 390}, {"write", 391}}), (Positions{2})) << "of two, too";
    EXPECT_EQ(below_best({}), Positions{});
}

TEST(Suspects, FewerThanThreeHaveNoMedian) {
    EXPECT_EQ(suspects(alike({396, 100})), Positions{});
    EXPECT_EQ(suspects({{"write", 396}, {"write", 395}, {"read", 100}, {"write", 200}}), (Positions{3}));
    EXPECT_EQ(suspects({}), Positions{});
    EXPECT_EQ(suspects(alike({0, 0, 0})), Positions{});
}

Node two_packages() {
    Node node;
    for (int i = 0; i < 3; ++i) {
        PciGpu gpu;
        gpu.numa_node = i / 2;
        gpu.max_link = {5, i == 1 ? 8 : 16};
        node.gpus.push_back(gpu);
    }
    return node;
}

std::string kind(const std::string& cell, int lanes = 18) {
    return kind_of(parse_cell(cell), two_packages(), [&](const Flow&) { return lanes; });
}

TEST(Suspects, OnlyLikeIsComparedWithLike) {
    EXPECT_EQ(kind("n0:g0"), kind("n1:g2")) << "each GPU with its own memory";
    EXPECT_EQ(kind("n1:g0"), kind("n0:g2")) << "each GPU with the other's";
    EXPECT_EQ(kind("g0:g1"), kind("g2:g0"));
    EXPECT_EQ(kind("n0:g0+g0:n0"), kind("g2:n1+n1:g2")) << "the order of flows says nothing";
    EXPECT_EQ(kind("n0:g0/sm"), kind("n1:g2/sm"));
    EXPECT_EQ(kind("g0:g0"), kind("g2:g2")) << "each GPU in its own memory";
    EXPECT_NE(kind("g0:g0"), kind("g0:g1"));
    EXPECT_NE(kind("g0:g0"), kind("g0:g0/sm"));
    for (const auto& [a, b] : std::vector<std::pair<std::string, std::string>>{{"n0:g0", "g0:n0"},
                                                                               {"n0:g0", "n1:g0"},
                                                                               {"n0:g0", "n0:g1"},
                                                                               {"n0:g0", "n0:g0/sm"},
                                                                               {"n0:g0", "n0:g0@n1"},
                                                                               {"n0:g0", "n0:g0/pageable"},
                                                                               {"n0:g0", "n0:g0+g0:n0"},
                                                                               {"g0:g1", "g0:g1@g1"},
                                                                               {"g0:g1", "g0:g1/sm"},
                                                                               {"g0:g1", "g0:g1/staged"},
                                                                               {"g0:g1+g0:g2", "g0:g1+g1:g0"}})
        EXPECT_NE(kind(a), kind(b)) << a << " and " << b;
    EXPECT_NE(kind("g0:g1", 18), kind("g0:g1", 4)) << "another number of lanes";
    Node unknown = two_packages();
    unknown.gpus[0].numa_node.reset();
    EXPECT_NE(kind_of(parse_cell("n0:g0"), unknown, nullptr), kind("n0:g0")) << "near or far is not known";
}

}  // namespace
}  // namespace nearfar
