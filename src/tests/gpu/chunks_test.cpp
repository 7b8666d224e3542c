#include "gpu/chunks.h"

#include <gtest/gtest.h>

namespace nearfar {
namespace {

constexpr std::size_t mega = std::size_t{1} << 20;
constexpr std::size_t host = 256 * mega;
constexpr std::size_t peer = 512 * mega;

double milliseconds(std::size_t chunk, double rate) { return static_cast<double>(chunk) / rate / 1e6; }

TEST(Chunks, LastLongEnoughAtEveryRate) {
    // From PCIe 3 to NVLink-C2C and NVLink 5; whole MiB make short chunks uneven below.
    for (double rate = 12; rate < 1000; rate *= 1.03) {
        const std::size_t to_host = buffer_for(rate, true, host);
        const std::size_t to_peer = buffer_for(rate, false, peer);
        EXPECT_GE(milliseconds(chunk_for(rate, to_host, ChunkLength::short_one), rate), 1.18) << rate;
        EXPECT_GE(milliseconds(chunk_for(rate, to_peer, ChunkLength::short_one), rate), 1.18) << rate;
        EXPECT_GE(milliseconds(chunk_for(rate, to_host, ChunkLength::long_one), rate), 2.4) << rate;
    }
    for (const double rate : {55.5, 450.0, 800.0}) {
        EXPECT_GE(milliseconds(chunk_for(rate, buffer_for(rate, true, host), ChunkLength::short_one), rate), 1.2) << rate;
        EXPECT_GE(milliseconds(chunk_for(rate, buffer_for(rate, false, peer), ChunkLength::short_one), rate), 1.2) << rate;
    }
}

TEST(Chunks, LinksOfTodayKeepTheirBuffersAndChunks) {
    for (const double rate : {6.0, 12.3, 25.0, 55.5, 58.0}) EXPECT_EQ(buffer_for(rate, true, host), host) << rate;
    for (const double rate : {25.0, 150.0, 270.0, 396.0, 400.0}) EXPECT_EQ(buffer_for(rate, false, peer), peer) << rate;
    EXPECT_EQ(chunk_for(55.5, host, ChunkLength::short_one), 64 * mega);
    EXPECT_EQ(chunk_for(55.5, host, ChunkLength::long_one), 254 * mega);
    EXPECT_EQ(chunk_for(396, peer, ChunkLength::short_one), 490 * mega);
    EXPECT_EQ(chunk_for(55.5, 64 * mega, ChunkLength::short_one, 4), 16 * mega);
    EXPECT_EQ(chunk_for(55.5, 16 * mega, ChunkLength::short_one, 64), 4 * mega);
    EXPECT_EQ(chunk_for(25, 64 * mega, ChunkLength::short_one, 4), 16 * mega);
}

TEST(Chunks, FastLinksGetLargerBuffers) {
    EXPECT_EQ(buffer_for(450, true, host), 1280 * mega);
    EXPECT_EQ(buffer_for(780, false, peer), 1024 * mega);
    // Four tasks of a fast link: each chunk lasts as long in company.
    EXPECT_GE(milliseconds(chunk_for(450, 1280 * mega / 4, ChunkLength::short_one, 4), 450.0 / 4), 1.2);
}

TEST(Chunks, AreNeverLargerThanTheBuffer) {
    for (double rate = 0.001; rate < 5000; rate *= 2)
        for (std::size_t buffer = mega; buffer <= peer; buffer *= 4)
            for (const int tasks : {1, 4, 64}) {
                EXPECT_LE(chunk_for(rate, buffer, ChunkLength::long_one, tasks), buffer);
                EXPECT_GE(chunk_for(rate, buffer, ChunkLength::short_one, tasks), mega);
            }
}

constexpr std::size_t giga = 1024 * mega;

TEST(StreamSize, IsSixteenCachesAtLeast) {
    EXPECT_EQ(wanted_stream_array(2 * giga, 50 * mega), 2 * giga);
    EXPECT_EQ(wanted_stream_array(2 * giga, 256 * mega), 4 * giga);
    EXPECT_EQ(wanted_stream_array(2 * giga, 0), 2 * giga);
}

TEST(StreamSize, IsHalvedUntilItFits) {
    EXPECT_EQ(fitting_stream_array(2 * giga, 50 * mega, 140 * giga, 1), 2 * giga);
    EXPECT_EQ(fitting_stream_array(2 * giga, 50 * mega, 6 * giga, 1), giga);
    EXPECT_EQ(fitting_stream_array(2 * giga, 50 * mega, 8 * giga, 2), giga);
    EXPECT_EQ(fitting_stream_array(2 * giga, 50 * mega, giga, 1), 256 * mega);
}

TEST(StreamSize, NeverFitsIntoACache) {
    EXPECT_EQ(fitting_stream_array(2 * giga, 50 * mega, 700 * mega, 1), 0U);
    EXPECT_EQ(fitting_stream_array(2 * giga, 0, 0, 1), 0U);
}

}  // namespace
}  // namespace nearfar
