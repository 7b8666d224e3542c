#include "cell/sizes.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace nearfar {
namespace {

TEST(Sizes, RangesAndLists) {
    EXPECT_EQ(parse_sizes("1KiB..8KiB"), (std::vector<std::size_t>{1024, 2048, 4096, 8192}));
    EXPECT_EQ(parse_sizes("1KiB..5KiB"), (std::vector<std::size_t>{1024, 2048, 4096, 5120}));
    EXPECT_EQ(parse_sizes("64,4KiB,1MiB,2GiB"), (std::vector<std::size_t>{64, 4096, 1 << 20, std::size_t{2} << 30}));
    EXPECT_EQ(parse_sizes("8B"), (std::vector<std::size_t>{8}));
}

TEST(Sizes, WrongOnesAreRefused) {
    for (const char* const text : {"", "0", "0B", "1KB", "-4KiB", "4kib", "x", "8KiB..4KiB", "4KiB,4KiB", "65GiB", "1KiB..",
                                   "99999999999999999999", "1.5MiB"})
        EXPECT_THROW(parse_sizes(text), WrongUse) << text;
}

std::string refusal(const std::string& text) {
    try {
        parse_sizes(text);
    } catch (const WrongUse& error) {
        return error.what();
    }
    return "";
}

TEST(Sizes, OneThatIsTooLargeIsCalledThat) {
    for (const char* const text : {"65GiB", "1TiB", "100TiB", "1KiB..2PiB", "1EiB", "99999999999999999999", "0", "0TiB"})
        EXPECT_NE(refusal(text).find("is not between 1 byte and 64 GiB"), std::string::npos) << text << ": " << refusal(text);
    for (const char* const text : {"x", "100TB", "1.5MiB", "GiB"})
        EXPECT_NE(refusal(text).find("is not a size"), std::string::npos) << text << ": " << refusal(text);
    EXPECT_EQ(parse_sizes("00000000000000000000064"), (std::vector<std::size_t>{64}));
    EXPECT_EQ(parse_sizes("1,7B,12"), (std::vector<std::size_t>{1, 7, 12}));
}

CellResult at(std::size_t bytes, double rate) {
    CellResult result;
    result.cell = parse_key("n0:g0 sizes");
    result.bytes = bytes;
    result.total = summarise({rate});
    return result;
}

TEST(Sizes, HalfBandwidthOfALatencyAndARate) {
    // time = 10 us + bytes / 50 GB/s: half of 50 GB/s at 500 kB, and so at a little less of the largest that was measured.
    std::vector<CellResult> results;
    for (std::size_t bytes = 1024; bytes <= (std::size_t{1} << 30); bytes *= 2)
        results.push_back(at(bytes, static_cast<double>(bytes) / (10e-6 + static_cast<double>(bytes) / 50e9) / 1e9));
    const std::vector<SizeCurve> curves = size_curves(results);
    ASSERT_EQ(curves.size(), 1U);
    EXPECT_NEAR(curves[0].half_bandwidth_bytes, 500e3, 5e3);
}

TEST(Sizes, ACurveThatIsFastFromTheStart) {
    EXPECT_EQ(size_curves({at(1024, 40), at(2048, 50)})[0].half_bandwidth_bytes, 1024);
    EXPECT_TRUE(size_curves({at(1024, 40)}).empty()) << "one size is no curve";
}

}  // namespace
}  // namespace nearfar
