#include "kernels/stream/stream_slice.h"

#include <gtest/gtest.h>

namespace nearfar {
namespace {

constexpr std::size_t MiB = std::size_t{1} << 20;
constexpr std::size_t elements_a_MiB = MiB / sizeof(double);

TEST(StreamSlice, SmallSlicesHaveSixteenChunks) {
    EXPECT_EQ(chunks_a_pass(4 * elements_a_MiB), 16U);
    EXPECT_EQ(chunks_a_pass(64 * elements_a_MiB), 16U);
}

TEST(StreamSlice, ChunksOfLargeSlicesStaySmall) {
    for (const std::size_t length : {65 * elements_a_MiB, 257 * elements_a_MiB, 1200 * elements_a_MiB, 16384 * elements_a_MiB}) {
        const std::size_t chunk = length / chunks_a_pass(length) * sizeof(double);
        EXPECT_LE(chunk, 4 * MiB);
        EXPECT_GT(chunk, 7 * MiB / 4);
    }
}

TEST(StreamSlice, ASliceIsAMultipleOfItsChunks) {
    const StreamArrays whole{nullptr, nullptr, nullptr, 1200 * elements_a_MiB + 123457};
    for (const std::size_t shares : {1U, 2U, 3U, 5U, 31U, 128U}) {
        const std::size_t length = slice_of(whole, 0, shares).length;
        EXPECT_EQ(length % (chunks_a_pass(length) * 8), 0U) << shares;
        EXPECT_LE(length * shares, whole.length);
        EXPECT_GT(length * shares, whole.length / 100 * 99);
    }
}

}  // namespace
}  // namespace nearfar
