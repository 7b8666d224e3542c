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

}  // namespace
}  // namespace nearfar
