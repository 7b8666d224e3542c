// The rule for representatives against the vectors that the Python side is tested against too.

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "cell/matrix.h"

namespace nearfar {
namespace {

struct Vector {
    std::string name;
    Node node;
    std::vector<std::string> from;  // of each GPU: the NUMA nodes that it is measured with
    std::string stream;
};

std::optional<int> number(const std::string& text) { return text == "-" ? std::nullopt : std::optional<int>(std::stoi(text)); }

std::vector<Vector> vectors() {
    std::ifstream file(NEARFAR_VECTORS "/representatives.txt");
    std::vector<Vector> found;
    for (std::string text; std::getline(file, text);) {
        if (text.empty() || text[0] == '#') continue;
        std::vector<std::string> fields;
        std::stringstream stream(text);
        for (std::string field; std::getline(stream, field, '\t');) fields.push_back(field);
        if (fields[0] == "node") {
            found.push_back({fields[1], {}, {}, {}});
            continue;
        }
        Vector& last = found.back();
        if (fields[0] == "from") last.from.push_back(fields[2]);
        if (fields[0] == "stream") last.stream = fields[1];
        if (fields[0] != "numa" && fields[0] != "gpu" && fields[0] != "distance") continue;
        const int index = std::stoi(fields[1]);
        if (fields[0] == "numa") {
            NumaNode numa{index, number(fields[2]), {}, 1U << 30};
            if (fields[3] == "cores") numa.cpus = {index};
            last.node.numa_nodes.push_back(numa);
            last.node.allowed_cpus.push_back(index);
        } else if (fields[0] == "gpu") {
            PciGpu gpu;
            gpu.numa_node = number(fields[2]);
            gpu.package = number(fields[3]);
            last.node.gpus.push_back(gpu);
        } else {
            std::istringstream row(fields[2]);
            for (const NumaNode& to : last.node.numa_nodes) row >> last.node.distances[{index, to.index}];
        }
    }
    return found;
}

void append(std::string& list, const std::string& item) { list += (list.empty() ? "" : " ") + item; }

TEST(Representatives, AreThoseOfTheVectors) {
    ASSERT_GE(vectors().size(), 4U);
    for (const Vector& vector : vectors()) {
        ASSERT_EQ(vector.from.size(), vector.node.gpus.size()) << vector.name;
        for (std::size_t i = 0; i < vector.from.size(); ++i) {
            std::string measured;
            for (const auto& [memory, instead] : memories_that_stand_for(vector.node, vector.node.gpus[i]))
                if (memory == instead) append(measured, std::to_string(memory));
            EXPECT_EQ(measured, vector.from[i]) << vector.name << ", GPU " << i;
        }
        std::string pairs;
        for (const auto& [pair, instead] : pairs_that_stand_for(vector.node))
            if (pair == instead) append(pairs, std::to_string(pair.first) + ":" + std::to_string(pair.second));
        EXPECT_EQ(pairs, vector.stream) << vector.name;
    }
}

TEST(Representatives, WhatIsLeftOutIsSaidAndNothingIsLost) {
    for (const Vector& vector : vectors()) {
        for (Matrix (*matrix)(const Node&, bool) : {host_device_matrix, quick_matrix, stream_matrix}) {
            const Matrix usual = matrix(vector.node, false);
            const Matrix all = matrix(vector.node, true);
            EXPECT_TRUE(all.left_out.empty());
            std::set<std::string> texts;
            for (const Cell& cell : usual.cells) texts.insert(cell.text());
            for (const NotMeasured& cell : usual.left_out) {
                EXPECT_EQ(cell.code, "representative");
                texts.insert(cell.cell);
            }
            EXPECT_EQ(texts.size(), usual.cells.size() + usual.left_out.size()) << vector.name;
            EXPECT_EQ(texts.size(), all.cells.size()) << vector.name;
        }
    }
}

TEST(Representatives, ThirtyTwoNumaNodesAndSixteenGpusAreAFewHundredCells) {
    const Node node = vectors().back().node;
    EXPECT_EQ(host_device_matrix(node, true).cells.size(), 32U * 16 * 3);
    EXPECT_EQ(host_device_matrix(node).cells.size(), 5U * 16 * 3);
    EXPECT_EQ(host_device_matrix(node).left_out.front().reason, "represented by n1:g0 (same package, class and distance)");
}

}  // namespace
}  // namespace nearfar
