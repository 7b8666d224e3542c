#include "kernels/stream/stream_values.h"

#include <gtest/gtest.h>

#include <vector>

#include "kernels/stream/stream_kernels.h"

namespace nearfar {
namespace {

constexpr std::size_t words = 3 * step_bytes / sizeof(std::uint64_t) + 40;

TEST(StreamValues, TheSumOfAPassIsWhatAddingItGives) {
    for (const std::size_t length :
         {std::size_t{1}, std::size_t{1000}, std::size_t{period_of_a * period_of_b}, std::size_t{100000}}) {
        double read = 0;
        double dot = 0;
        for (std::size_t i = 0; i < length; ++i) {
            read += value_of_a(i);
            dot += value_of_a(i) * value_of_b(i);
        }
        EXPECT_EQ(sum_of_pass(Kernel::read, length), read) << length;
        EXPECT_EQ(sum_of_pass(Kernel::dot, length), dot) << length;
    }
}

// A window of some seconds on the fastest memory moves less than this.
TEST(StreamValues, SumsOfAWholeWindowAreExact) {
    constexpr std::size_t array = std::size_t{2} << 30;
    constexpr double passes = 2000;
    EXPECT_LT(passes * sum_of_pass(Kernel::dot, array / sizeof(double)), 9007199254740992.0);
}

// After three passes, each a step further on: the first steps hold what the earlier ones left, the rest the last one's answer, and
// poison is behind it.
TEST(StreamValues, EachPassLeavesAStep) {
    const Arrival arrival{0, words, 0, words * sizeof(std::uint64_t) - 2 * step_bytes, 2};
    constexpr std::size_t step = step_bytes / sizeof(std::uint64_t);
    for (const Kernel kernel : {Kernel::copy, Kernel::scale, Kernel::add, Kernel::triad, Kernel::write}) {
        EXPECT_EQ(expected_stream_word(kernel, arrival, 5), answer_word(kernel, 5));
        EXPECT_EQ(expected_stream_word(kernel, arrival, step + 5), answer_word(kernel, 5));
        EXPECT_EQ(expected_stream_word(kernel, arrival, 2 * step + step / 2), answer_word(kernel, step / 2));
    }
    EXPECT_EQ(expected_stream_word(Kernel::fill, arrival, 0) & 0xff, fill_byte(0, false));
    EXPECT_EQ(expected_stream_word(Kernel::fill, arrival, step) & 0xff, fill_byte(1, false));
    EXPECT_EQ(expected_stream_word(Kernel::copy, {0, words, 0, step_bytes, 0}, step), pattern(poison_seed, step));
}

// A pass that was left out leaves the step of the one before it, or of the lap before it.
TEST(StreamValues, NeighbouringStepsAndTurnsDiffer) {
    constexpr std::size_t turn = turn_bytes / sizeof(std::uint64_t);
    constexpr std::size_t step = step_bytes / sizeof(std::uint64_t);
    for (std::uint64_t i = 0; i < 600; ++i) {
        EXPECT_NE(fill_byte(i, false), fill_byte(i + 1, false));
        EXPECT_NE(fill_byte(i, false), fill_byte(i, true));
    }
    for (const Kernel kernel : {Kernel::copy, Kernel::scale, Kernel::add, Kernel::triad, Kernel::write}) {
        std::size_t same = 0;
        for (std::uint64_t i = 0; i < 10000; ++i) {
            same += answer_word(kernel, i) == answer_word(kernel, i + step) ? 1 : 0;
            same += answer_word(kernel, i) == answer_word(kernel, i + turn) ? 1 : 0;
        }
        EXPECT_LT(same, 1000U) << static_cast<int>(kernel);
    }
}

TEST(StreamValues, BytesAreCountedAsStreamDoes) {
    const std::vector<std::pair<Kernel, int>> arrays{{Kernel::copy, 2},  {Kernel::scale, 2}, {Kernel::add, 3},
                                                     {Kernel::triad, 3}, {Kernel::dot, 2},   {Kernel::read, 1},
                                                     {Kernel::write, 1}, {Kernel::fill, 1}};
    for (const auto& [kernel, count] : arrays) EXPECT_EQ(stream_bytes(kernel, 100), 800.0 * count);
}

}  // namespace
}  // namespace nearfar
