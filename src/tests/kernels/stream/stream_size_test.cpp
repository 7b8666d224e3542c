#include "kernels/stream/stream_size.h"

#include <gtest/gtest.h>

namespace nearfar {
namespace {

constexpr std::size_t MiB = std::size_t{1} << 20;
constexpr std::size_t GiB = std::size_t{1} << 30;

TEST(StreamSize, IsSixteenCachesAtLeast) {
    EXPECT_EQ(wanted_stream_array(2 * GiB, 50 * MiB), 2 * GiB);
    EXPECT_EQ(wanted_stream_array(2 * GiB, 256 * MiB), 4 * GiB);
    EXPECT_EQ(wanted_stream_array(2 * GiB, 0), 2 * GiB);
}

TEST(StreamSize, IsHalvedUntilItFits) {
    EXPECT_EQ(fitting_stream_array(2 * GiB, 50 * MiB, 140 * GiB, 1), 2 * GiB);
    EXPECT_EQ(fitting_stream_array(2 * GiB, 50 * MiB, 6 * GiB, 1), GiB);
    EXPECT_EQ(fitting_stream_array(2 * GiB, 50 * MiB, 8 * GiB, 2), GiB);
    EXPECT_EQ(fitting_stream_array(2 * GiB, 50 * MiB, GiB, 1), 256 * MiB);
}

TEST(StreamSize, NeverFitsIntoACache) {
    EXPECT_EQ(fitting_stream_array(2 * GiB, 50 * MiB, 700 * MiB, 1), 0U);
    EXPECT_EQ(fitting_stream_array(2 * GiB, 0, 0, 1), 0U);
}

}  // namespace
}  // namespace nearfar
