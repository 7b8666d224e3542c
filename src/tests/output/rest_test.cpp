#include "output/rest.h"

#include <gtest/gtest.h>

#include "copy/copy_options.h"
#include "output/document.h"

namespace nearfar {
namespace {

CommandLine parsed(std::vector<std::string> words) {
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    return parse_copy_options(static_cast<int>(pointers.size()), pointers.data());
}

TEST(Rest, TheNewProcessMeasuresAsThisOneWouldHave) {
    const CommandLine line =
        parsed({"nearfar-copy", "n0:g0", "--json", "--sizes", "1KiB,4KiB", "--gpus", "0000:1b:00.0,0000:1c:00.0", "--timeout",
                "12", "--aggressor", "g1:n0", "--even-if-busy", "--absent-fails"});
    std::vector<std::string> words = words_for_rest(line);
    ASSERT_EQ(words[1], "--cells=-");
    words[1] = "n0:g1";
    const CommandLine again = parsed(words);
    EXPECT_TRUE(again.json);
    EXPECT_EQ(again.gpus, line.gpus);
    EXPECT_EQ(again.policy.sizes, line.policy.sizes);
    EXPECT_EQ(again.policy.hang_seconds, 12);
    EXPECT_TRUE(again.policy.even_if_busy);
    EXPECT_TRUE(again.absent_fails);
    ASSERT_EQ(again.policy.aggressors.size(), 1U);
    EXPECT_EQ(again.policy.aggressors[0].text(), "g1:n0");
}

TEST(Rest, TakesWhatWasLeftOutForThatReason) {
    Session session;
    session.skipped = {{"n0:g0", "busy", "taken"}, {"n0:g1", "interrupted", "the end"}};
    const std::vector<Cell> rest = take_rest(session, "the end");
    ASSERT_EQ(rest.size(), 1U);
    EXPECT_EQ(rest[0].text(), "n0:g1");
    ASSERT_EQ(session.skipped.size(), 1U);
    EXPECT_EQ(session.skipped[0].cell, "n0:g0");
}

TEST(Rest, FindsTheItemsOfADocumentsOwnArrays) {
    const char* const text =
        R"({"results": [{"cell": "n0:g0", "results": [1], "words": "]}\"[{"}], "skipped": [], "failed": [{"a": 1}]})";
    EXPECT_EQ(items_of(text, "results"), R"({"cell": "n0:g0", "results": [1], "words": "]}\"[{"})");
    EXPECT_EQ(items_of(text, "skipped"), "");
    EXPECT_EQ(items_of(text, "failed"), R"({"a": 1})");
    EXPECT_EQ(items_of(text, "curves"), "");
    EXPECT_EQ(items_of("{\"results\": [{", "results"), "") << "half a document";
}

TEST(Rest, JoinsTheDocument) {
    Session session;
    session.failed = {{"g1:n0", "lost", "gone"}};
    session.rest.results = R"({"cell": "n0:g0"}, {"cell": "g0:n0"})";
    session.rest.failed = R"({"cell": "n0:g2"})";
    const std::string text = document({}, {}, {}, session);
    EXPECT_EQ(items_of(text, "results"), session.rest.results);
    EXPECT_EQ(items_of(text, "failed"), R"({"cell": "g1:n0", "code": "lost", "reason": "gone"}, {"cell": "n0:g2"})");
    EXPECT_EQ(items_of(text, "skipped"), "");
}

}  // namespace
}  // namespace nearfar
