#include "core/message.h"

#include <gtest/gtest.h>

#include <random>
#include <stdexcept>

using namespace nearfar;

TEST(Message, IsReadAsItWasWritten) {
    std::mt19937 random(13);
    const std::string letters = "ab \t\n\r\\tn{\"}";
    for (int i = 0; i < 2000; ++i) {
        Message message;
        const auto text = [&] {
            std::string some;
            for (std::size_t left = random() % 6; left > 0; --left) some += letters[random() % letters.size()];
            return some;
        };
        message.word = text();
        for (std::size_t left = random() % 4; left > 0; --left) message.fields.push_back(text());
        const std::string line = message.line();
        ASSERT_EQ(line.find('\n'), std::string::npos);
        const Message read = parse_message(line);
        ASSERT_EQ(read.word, message.word) << line;
        ASSERT_EQ(read.fields, message.fields) << line;
    }
}

TEST(Message, NumbersAreReadBackTheSame) {
    for (const double number : {0.0, 1.0 / 3, -1e-300, 123456789.123456789}) {
        EXPECT_EQ(parse_message(Message{"t", {number_field(number)}}.line()).number(0), number);
    }
    EXPECT_EQ((Message{"bytes", {"268435456"}}.count(0)), 268435456U);
}

TEST(Message, SaysWhatIsMissingOrNoNumber) {
    const Message message{"assign", {"n0:g0", "-1"}};
    EXPECT_THROW(message.field(2), std::invalid_argument);
    EXPECT_THROW(message.number(0), std::invalid_argument);
    EXPECT_THROW(message.count(1), std::invalid_argument);
}
