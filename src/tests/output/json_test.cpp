#include "output/json.h"

#include <gtest/gtest.h>

#include <cmath>

namespace nearfar {
namespace {

TEST(Json, NestsAndPlacesCommas) {
    Json json;
    json.begin_object().field("a", 1).key("b").begin_array().value(true).value("x").end_array();
    json.key("c").begin_object().end_object().field("d", 1.5).end_object();
    EXPECT_EQ(json.text(), R"({"a": 1, "b": [true, "x"], "c": {}, "d": 1.5})");
}

TEST(Json, EscapesWhatWouldEndTheText) {
    Json json;
    json.value(std::string("a\"b\\c\nd"));
    EXPECT_EQ(json.text(), R"("a\"b\\c\u000ad")");
}

TEST(Json, NoNumberIsNull) {
    Json json;
    json.begin_array().value(NAN).value(INFINITY).value(std::uint64_t{18446744073709551615ULL}).end_array();
    EXPECT_EQ(json.text(), "[null, null, 18446744073709551615]");
}

TEST(Json, WhatIsNoUtf8IsReplaced) {
    EXPECT_EQ(Json().value("caf\xc3\xa9 \xe2\x80\xa6 \xf0\x9f\x98\x80").text(), "\"caf\xc3\xa9 \xe2\x80\xa6 \xf0\x9f\x98\x80\"");
    for (const char* const wrong : {"\xff", "\xc3", "\xc0\xaf", "\xed\xa0\x80", "\xf5\x80\x80\x80", "\x80"}) {
        const std::string shown = Json().value(wrong).text();
        EXPECT_EQ(shown.find_first_of("\x80\xa0\xaf\xc0\xc3\xed\xf5\xff"), std::string::npos) << shown;
        EXPECT_EQ(shown.find("\"\\ufffd"), 0U) << shown;
    }
    EXPECT_EQ(Json()
                  .value("a\xff"
                         "b")
                  .text(),
              "\"a\\ufffdb\"");
}

}  // namespace
}  // namespace nearfar
