// The ceilings of links against the vectors that the Python side is tested against too.
#include "node/link_ceiling.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "node/nvml.h"

namespace nearfar {
namespace {

TEST(LinkCeiling, IsThatOfTheVectors) {
    std::ifstream file(NEARFAR_VECTORS "/ceilings.txt");
    int seen = 0;
    for (std::string line; std::getline(file, line);) {
        if (line[0] == '#') continue;
        std::istringstream fields(line);
        std::string kind;
        std::string expected;
        int generation = 0;
        int lanes = 0;
        fields >> kind >> generation >> lanes >> expected;
        const std::optional<double> ceiling =
            kind == "pcie" ? pcie_ceiling(generation, lanes) : nvlink_ceiling(generation, lanes);
        ASSERT_EQ(ceiling.has_value(), expected != "-") << line;
        if (ceiling) EXPECT_NEAR(*ceiling, std::stod(expected), 1e-6) << line;
        ++seen;
    }
    EXPECT_GE(seen, 45);
}

TEST(LinkCeiling, IsUnknownWhereTheLinkIs) {
    EXPECT_FALSE(pcie_ceiling({}, 16));
    EXPECT_FALSE(pcie_ceiling(5, {}));
    EXPECT_FALSE(nvlink_ceiling({}, 18));
    EXPECT_FALSE(nvlink_ceiling(4, 0));
}

// A GPU of generation 5 behind a bridge of generation 4, and what the driver says of both.
TEST(LinkOfGpu, IsWhatDeviceAndSlotAllow) {
    PciGpu gpu;
    gpu.max_link = narrower({5, 16}, {4, {}});
    const PcieLink by_bus = max_link_of(gpu, {});
    EXPECT_NEAR(*pcie_ceiling(by_bus.gen, by_bus.width), 29.2, 0.1);
    NvmlGpu driver;
    driver.max_link = {{}, 8};
    EXPECT_EQ(max_link_of(gpu, driver).gen, 4);
    EXPECT_EQ(max_link_of(gpu, driver).width, 8);
    EXPECT_FALSE(narrower({}, {}).gen);
}

TEST(MemoryCopyCeiling, IsHalfOfWhatTheMemoryMoves) {
    EXPECT_NEAR(*memory_copy_ceiling(2619000, 5120), 3352.32 / 2, 0.01);  // H100 SXM
    EXPECT_NEAR(*memory_copy_ceiling(1215000, 5120), 1555.2 / 2, 0.01);   // A100 40 GB
}

TEST(MemoryCopyCeiling, IsUnknownWhereTheMemoryIs) {
    EXPECT_FALSE(memory_copy_ceiling({}, 5120));
    EXPECT_FALSE(memory_copy_ceiling(2619000, {}));
    EXPECT_FALSE(memory_copy_ceiling(0, 5120));
    EXPECT_FALSE(memory_copy_ceiling(2619000, 0));
}

TEST(MemoryCeiling, IsClockTimesWidthTwiceACycle) {
    EXPECT_NEAR(*memory_ceiling(3201000, 6144), 4916.7, 0.1);  // an H200's attributes
    EXPECT_FALSE(memory_ceiling({}, 6144));
    EXPECT_FALSE(memory_ceiling(3201000, 0));
}

// A link carries reads one way and writes the other at once: the fuller direction limits.
TEST(KernelCeiling, IsThatOfTheFullerDirection) {
    EXPECT_DOUBLE_EQ(*kernel_ceiling(2, 1, 60.0, 50.0), 90.0);
    EXPECT_DOUBLE_EQ(*kernel_ceiling(1, 1, 60.0, 50.0), 100.0);
    EXPECT_DOUBLE_EQ(*kernel_ceiling(1, 0, 60.0, {}), 60.0);
    EXPECT_DOUBLE_EQ(*kernel_ceiling(0, 1, {}, 50.0), 50.0);
    EXPECT_FALSE(kernel_ceiling(2, 1, 60.0, {}));
}

}  // namespace
}  // namespace nearfar
