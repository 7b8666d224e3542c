#include "core/options.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace nearfar {
namespace {

// One option of each kind, and what a command line makes of them.
struct Read {
    bool fast = false;
    double limit = 0;
    int rounds = 0;
    char side = 'a';
    std::vector<std::string> names;
    std::string file = "not given";
    std::string count = "not given";
    std::vector<std::string> each;
    std::vector<std::string> words;

    Options table() {
        return {switch_option("--fast", "be fast", fast),
                seconds_option("--limit", "at most", limit),
                count_option("--rounds", "so many", rounds, 9),
                choice_option<char>("--side", "which", side, {{"left", 'l'}, {"right", 'r'}, {"both", 'b'}}),
                {"--names", "A,B", "of whom", [this](const std::string& text) { names = list_value("--names", text); }},
                {"--file", "[=FILE]", "where to", [this](const std::string& text) { file = text; }},
                {"--count", "[=N]", "how many", [this](const std::string& text) { count = text; }},
                {"--each", "NAME", "one more word, and as many others as it takes to fill a line of a hundred columns to its end",
                 [this](const std::string& text) { each.push_back(text); }, true},
                {"--inner", "X", "", [](const std::string&) {}}};
    }
    // What is wrong; empty: nothing.
    std::string from(std::vector<std::string> line) {
        line.insert(line.begin(), "program");
        try {
            read_options(line, table(), [this](const std::string& word) { words.push_back(word); });
        } catch (const WrongUse& error) {
            return error.what();
        }
        return "";
    }
};

std::string wrong(const std::vector<std::string>& line) { return Read().from(line); }

TEST(Options, AreReadInBothFormsBetweenWords) {
    Read read;
    EXPECT_EQ(read.from({"one", "--limit", "2.5", "--rounds=3", "--fast", "--fast", "--names=a,b", "--side", "both", "--each=x",
                         "--each", "y=z", "--file", "two", "--", "--fast"}),
              "");
    EXPECT_TRUE(read.fast);
    EXPECT_EQ(read.limit, 2.5);
    EXPECT_EQ(read.rounds, 3);
    EXPECT_EQ(read.side, 'b');
    EXPECT_EQ(read.names, (std::vector<std::string>{"a", "b"}));
    EXPECT_EQ(read.each, (std::vector<std::string>{"x", "y=z"}));
    EXPECT_EQ(read.file, "") << "its value may be left out, and the next word is none of its";
    EXPECT_EQ(read.words, (std::vector<std::string>{"one", "two", "--fast"}));
    EXPECT_EQ(read.from({"--file=f"}), "");
    EXPECT_EQ(read.file, "f");
}

TEST(Options, ANumberBehindAnOptionThatMayHaveOneIsIts) {
    const std::vector<std::pair<std::vector<std::string>, std::pair<std::string, std::size_t>>> cases{
        {{"--count", "50", "n0:g0"}, {"50", 1}},
        {{"--count=50", "n0:g0"}, {"50", 1}},
        {{"--count", "n0:g0"}, {"", 1}},
        {{"--count"}, {"", 0}},
        {{"--count", "5x"}, {"", 1}},
        {{"--file", "5"}, {"not given", 1}},
    };
    for (const auto& [line, wanted] : cases) {
        Read read;
        EXPECT_EQ(read.from(line), "");
        EXPECT_EQ(read.count, wanted.first) << line.back();
        EXPECT_EQ(read.words.size(), wanted.second) << line.back();
    }
}

TEST(Options, WhatIsWrongIsSaidWithItsOptionAndWhatIsWanted) {
    const std::vector<std::pair<std::vector<std::string>, std::string>> cases{
        {{"--limit"}, "--limit needs a value: SECONDS"},
        {{"--limit", "--fast"}, "--limit needs a value: SECONDS"},
        {{"--limit="}, "--limit= needs a value: SECONDS"},
        {{"--limit", ""}, "--limit needs a number of seconds above 0 (at most 10000000), not ''"},
        {{"--file="}, "--file= needs a value: [=FILE]"},
        {{"--fast=1"}, "--fast takes no value, not '1'"},
        {{"--limit=1", "--limit=1"}, "--limit is named twice"},
        {{"--file", "--file=f"}, "--file is named twice"},
        {{"a\nb"}, "'a?b' holds control characters, shown as '?'"},
        {{"--limit=1\x1b[2J"}, "'--limit=1?[2J' holds control characters, shown as '?'"},
        {{"--side=middle"}, "--side: 'middle' is none of left, right, both"},
        {{"--names=a,,b"}, "--names needs a list with single commas between its parts, not 'a,,b'"},
        {{"--names=a,"}, "--names needs a list with single commas between its parts, not 'a,'"},
        {{"--rounds=10"}, "--rounds needs a number from 1 to 9 (whole), not '10'"},
    };
    for (const auto& [line, said] : cases) EXPECT_EQ(wrong(line), said);
    for (const char* const text : {"0", "-1", "nan", "inf", "1e300", "2x", "2s", "two", "1,5"})
        EXPECT_NE(wrong({"--limit", text}).find(std::string("not '") + text + "'"), std::string::npos) << text;
    for (const char* const text : {"0", "-1", "1.5", "nan", "1e300", "99999999999999999999", "3x", ""})
        EXPECT_NE(wrong({"--rounds", text}).find(std::string("not '") + text + "'"), std::string::npos) << text;
}

TEST(Options, AnUnknownOneIsToldWithTheOneThatMayBeMeant) {
    const std::vector<std::pair<std::string, std::string>> cases{
        {"--rouds=3", "unknown option '--rouds': did you mean '--rounds'? See --help"},
        {"-rounds", "unknown option '-rounds': did you mean '--rounds'? See --help"},
        {"--lim", "unknown option '--lim': did you mean '--limit'? See --help"},
        {"--nothing-like-it", "unknown option '--nothing-like-it'; see --help"},
        {"--inne", "unknown option '--inne'; see --help"},  // not shown, and not told
        {"-x", "unknown option '-x'; see --help"},
        {"-", "unknown option '-'; see --help"},
    };
    for (const auto& [word, said] : cases) EXPECT_EQ(wrong({word}), said);
}

TEST(Options, HelpIsAlignedAndLeavesOutWhatIsNotToBeShown) {
    Read read;
    EXPECT_EQ(options_help(read.table()),
              "  --fast           be fast\n"
              "  --limit SECONDS  at most\n"
              "  --rounds N       so many\n"
              "  --side left|right|both\n"
              "                   which\n"
              "  --names A,B      of whom\n"
              "  --file[=FILE]    where to\n"
              "  --count[=N]      how many\n"
              "  --each NAME      one more word, and as many others as it takes to fill a line of a hundred columns\n"
              "                   to its end\n");
}

}  // namespace
}  // namespace nearfar
