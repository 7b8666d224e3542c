#include "core/trouble.h"

#include <gtest/gtest.h>

#include <new>
#include <system_error>

#include "core/error.h"

namespace nearfar {
namespace {

// What is thrown again after the trouble was a line between two processes.
template <typename Error>
void told(const Error& error) {
    const std::string line = trouble_of([&] { throw error; }).line();
    throw_trouble(parse_message(line), "rank 1: ");
}

template <typename Kind, typename Error>
std::string code_and_words(const Error& error) {
    try {
        told(error);
    } catch (const Kind& why) {
        return why.code + " " + why.what();
    }
    return "nothing";
}

TEST(Trouble, IsThrownAgainAsWhatItWas) {
    EXPECT_EQ(code_and_words<Failure>(Failure("lost", "the GPU\nis lost")), "lost rank 1: the GPU\nis lost");
    EXPECT_EQ(code_and_words<Prevented>(Prevented("busy", "others use it")), "busy rank 1: others use it");
    EXPECT_THROW(told(WrongUse("--no-such")), WrongUse);
}

TEST(Trouble, OfTheSystemHasACode) {
    EXPECT_EQ(code_and_words<Prevented>(std::bad_alloc()).rfind("no_memory rank 1: ", 0), 0U);
    const auto refused = std::make_error_code(std::errc::resource_unavailable_try_again);
    EXPECT_NE(code_and_words<Prevented>(std::system_error(refused)).find("not_allowed rank 1: no thread"), std::string::npos);
    EXPECT_EQ(code_and_words<Failure>(std::runtime_error("odd")), "error rank 1: odd");
}

TEST(Trouble, ThatWasNoneThrowsNothing) {
    const Message none = trouble_of([] {});
    EXPECT_TRUE(none.word.empty());
    EXPECT_NO_THROW(throw_trouble(parse_message(none.line())));
}

}  // namespace
}  // namespace nearfar
