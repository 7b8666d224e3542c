#include "cell/matrix.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace nearfar {
namespace {

Node two_gpus() {
    Node node;
    node.numa_nodes = {{0, 0, {0}, 1 << 30}};
    node.gpus.resize(2);
    return node;
}

std::string refusal(const std::vector<std::string>& texts) {
    std::vector<Cell> cells;
    for (const std::string& text : texts) cells.push_back(parse_cell(text));
    try {
        require_aggressors(cells, two_gpus());
    } catch (const WrongUse& error) {
        return error.what();
    }
    return "";
}

TEST(Aggressors, CopiesOfAnyKindMayRun) {
    EXPECT_EQ(refusal({}), "");
    EXPECT_EQ(refusal({"n0:g0+g0:n0", "g0:g1@g1", "g0:g0", "n0:g1/x4", "g0:g1/sm", "n0:g0/pageable"}), "");
}

TEST(Aggressors, WhatCannotRunIsWrongUse) {
    EXPECT_EQ(refusal({"n0:g7"}), "--aggressor n0:g7: there is no g7: this node has 2 GPU(s), g0 to g1");
    EXPECT_NE(refusal({"c0:n0/triad"}).find("STREAM is no background load"), std::string::npos) << refusal({"c0:n0/triad"});
    EXPECT_EQ(refusal({"g0:g0/triad"}),
              "--aggressor g0:g0/triad: an aggressor copies from or to a GPU; STREAM is no background load");
    EXPECT_NE(refusal({"n0:g0/x4/threads"}).find("tasks are processes: n0:g0/x4"), std::string::npos);
    EXPECT_NE(refusal({"n0:g0", "g0:n0+n0:g0"}).find("n0:g0 is named twice"), std::string::npos);
}

}  // namespace
}  // namespace nearfar
