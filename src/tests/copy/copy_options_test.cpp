#include "copy/copy_options.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

#include "core/error.h"

namespace nearfar {
namespace {

CommandLine parse(std::vector<std::string> words) {
    words.insert(words.begin(), "program");
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    return parse_copy_options(static_cast<int>(pointers.size()), pointers.data());
}

TEST(CopyOptions, ReadsCellsAndOptionsInBothForms) {
    const CommandLine line = parse({"n0:g0", "--json=out.json", "--budget", "2.5", "--gpus=1b:00.0,43:00.0", "g0:n0"});
    EXPECT_EQ(line.cells.size(), 2U);
    EXPECT_EQ(line.json_file, "out.json");
    EXPECT_EQ(line.policy.budget, 2.5);
    EXPECT_EQ(line.gpus, (std::vector<std::string>{"1b:00.0", "43:00.0"}));
}

TEST(CopyOptions, ACellThatIsNamedTwiceIsMeasuredOnce) {
    const CommandLine line = parse({"n0:g0+g0:n0", "n0:g0", "g0:n0+n0:g0", "n0:g0"});
    ASSERT_EQ(line.cells.size(), 2U);
    EXPECT_EQ(line.cells[0].text(), "n0:g0+g0:n0");
    EXPECT_EQ(line.cells[1].text(), "n0:g0");
}

TEST(CopyOptions, WrongUseIsRefused) {
    for (const char* const option : {"--budget=0", "--budget=-1", "--budget=nan", "--budget=2x", "--budget=", "--nosuch", "-x"})
        EXPECT_THROW(parse({option}), WrongUse) << option;
    EXPECT_THROW(parse({"--budget"}), WrongUse);
    EXPECT_THROW(parse({"n0:q0"}), CellError);
    EXPECT_THROW(parse({"--cells", "/nonexistent"}), WrongUse);
}

TEST(CopyOptions, ACellFileHasCommentsAndErrorsNameTheLine) {
    const std::string name = ::testing::TempDir() + "cells.txt";
    std::ofstream(name) << "# the matrix\nn0:g0   # near\n\n g0:n0\n";
    EXPECT_EQ(parse({"--cells", name}).cells.size(), 2U);
    std::ofstream(name) << "n0:g0\nn0:q0\n";
    try {
        parse({"--cells", name});
        FAIL() << "a bad cell was accepted";
    } catch (const WrongUse& error) {
        EXPECT_NE(std::string(error.what()).find(name + ":2: cell 'n0:q0', column 4"), std::string::npos) << error.what();
    }
    std::ofstream(name) << "# nothing\n";
    EXPECT_THROW(parse({"--cells", name}), WrongUse);
    std::remove(name.c_str());
}

}  // namespace
}  // namespace nearfar
