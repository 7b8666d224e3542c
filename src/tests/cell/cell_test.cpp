// The C++ parser against the vectors that the Python parser is tested against too.
#include "cell/cell.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace nearfar {
namespace {

struct Vector {
    int line;
    std::vector<std::string> columns;
    std::string input() const { return columns.at(1) == "<empty>" ? "" : columns[1]; }
};

std::vector<Vector> vectors(const std::string& kind) {
    std::ifstream file(NEARFAR_VECTORS "/cells.txt");
    std::vector<Vector> found;
    std::string text;
    for (int line = 1; std::getline(file, text); ++line) {
        if (text.empty() || text[0] == '#') continue;
        Vector vector{line, {}};
        std::stringstream columns(text);
        for (std::string column; std::getline(columns, column, '\t');) vector.columns.push_back(column);
        if (vector.columns.at(0) == kind) found.push_back(vector);
    }
    return found;
}

TEST(Cell, GoodVectorsHaveTheirCanonicalForm) {
    ASSERT_GE(vectors("ok").size(), 40U);
    for (const Vector& vector : vectors("ok")) {
        EXPECT_EQ(parse_cell(vector.input()).text(), vector.columns.at(2)) << "cells.txt:" << vector.line;
        EXPECT_EQ(parse_cell(vector.columns[2]).text(), vector.columns[2]) << "not a fixed point, cells.txt:" << vector.line;
    }
}

TEST(Cell, BadVectorsPointAtTheirColumn) {
    ASSERT_GE(vectors("bad").size(), 40U);
    for (const Vector& vector : vectors("bad")) {
        try {
            const Cell cell = parse_cell(vector.input());
            ADD_FAILURE() << "cells.txt:" << vector.line << " parsed as " << cell.text();
        } catch (const CellError& error) {
            EXPECT_EQ(std::to_string(error.column), vector.columns.at(2)) << "cells.txt:" << vector.line << ": " << error.what();
            EXPECT_NE(std::string(error.what()).find(vector.columns.at(3)), std::string::npos)
                << "cells.txt:" << vector.line << " wants '" << vector.columns[3] << "', got: " << error.what();
        }
    }
}

// What each flow is: exactly one of these, which decides who measures it and how.
TEST(Cell, AFlowIsOfOneKind) {
    const std::vector<std::pair<std::string, std::string>> kinds{{"n0:g0", "host"},
                                                                 {"g0:n0/sm", "host"},
                                                                 {"g0:g1", "peer"},
                                                                 {"g0:g1/staged", "peer"},
                                                                 {"g0:g0", "local"},
                                                                 {"g0:g0/sm", "local"},
                                                                 {"c0:n0/triad", "stream"},
                                                                 {"g0:g0/triad", "gpu stream"},
                                                                 {"g0:n0/copy", "gpu stream"},
                                                                 {"g0:g1/add", "gpu stream"}};
    for (const auto& [text, expected] : kinds) {
        const Flow flow = parse_cell(text).flows[0];
        std::string found;
        if (flow.is_host_flow()) found += "host";
        if (flow.is_peer_flow()) found += "peer";
        if (flow.is_local_flow()) found += "local";
        if (flow.is_stream_flow()) found += "stream";
        if (flow.is_gpu_stream_flow()) found += "gpu stream";
        EXPECT_EQ(found, expected) << text;
        EXPECT_EQ(flow.stays_on_gpus(), expected == "peer" || expected == "local") << text;
    }
}

TEST(Cell, AFlowAloneKeepsItsPath) { EXPECT_EQ(parse_cell("n0:g1@n3/sm/x4/threads").flows[0].alone().text(), "n0:g1@n3/sm"); }

}  // namespace
}  // namespace nearfar
