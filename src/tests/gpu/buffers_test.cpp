// Buffers that grow with the rate of their link, on emulated GPUs.
#include "gpu/buffers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "gpu/windowed.h"
#include "tests/gpu/tested_gpus.h"

namespace nearfar {
namespace {

constexpr std::size_t mega = std::size_t{1} << 20;

class GrowingBuffers : public testing::Test {
protected:
    void SetUp() override {
        node_ = node_with_gpus();
        gpus_ = find_gpus_by_cuda(node_);
        buffers_.plan(cell_);
        buffers_.allocate_host();
        buffers_.allocate_device_and_register();
    }

    std::vector<Route> routes(double rate) {
        return fitting_routes(cell_.flows[0], keys_, buffers_, node_, gpus_, 1, [rate](const Route&) { return rate; });
    }

    Node node_;
    std::vector<GpuDevice> gpus_;
    const Cell cell_ = parse_cell("n0:g0");
    const FlowBuffers keys_ = buffers_of(cell_)[0];
    Buffers buffers_{node_, gpus_, 4 * mega};
};

TEST_F(GrowingBuffers, StayWhereTheyAreLargeEnough) { EXPECT_EQ(routes(0.8)[0].bytes(), 4 * mega); }

TEST_F(GrowingBuffers, GrowWithTheRateAndHoldThePattern) {
    std::vector<Route> grown = routes(4);
    ASSERT_EQ(grown[0].bytes(), 8 * mega);
    grown[0].begin_series(8 * mega, 1);
    grown[0].queue_copies(1);
    ASSERT_EQ(cudaStreamSynchronize(grown[0].stream()), cudaSuccess);
    EXPECT_NO_THROW(grown[0].verify());
    EXPECT_FALSE(buffers_.can_be_enlarged(keys_, 8 * mega));
}

TEST_F(GrowingBuffers, StayAsTheyAreWhereTheGpuHasNoRoom) {
    std::vector<void*> taken;
    for (void* one = nullptr; cudaMalloc(&one, 8 * mega) == cudaSuccess;) taken.push_back(one);
    cudaGetLastError();
    std::vector<Route> kept = routes(4);
    for (void* one : taken) cudaFree(one);
    EXPECT_EQ(kept[0].bytes(), 4 * mega);
    EXPECT_EQ(buffers_.at(keys_.source).bytes, 8 * mega);  // the host has room
    EXPECT_FALSE(buffers_.can_be_enlarged(keys_, 8 * mega));
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
    kept[0].begin_series(4 * mega, 1);
    kept[0].queue_copies(1);
    ASSERT_EQ(cudaStreamSynchronize(kept[0].stream()), cudaSuccess);
    EXPECT_NO_THROW(kept[0].verify());
}

// Buffers of cells on emulated GPUs, as the routes of their flows have them.
TEST(LocalBuffers, OfAFlowWithinOneGpuAreTwoThatDoNotOverlap) {
    const Node node = node_with_gpus();
    std::vector<GpuDevice> gpus = find_gpus_by_cuda(node);
    const Cell cell = parse_cell("g0:g0+g0:g0/sm");
    Buffers buffers(node, gpus, 4 * mega);
    buffers.plan(cell);
    buffers.allocate_host();
    buffers.allocate_device_and_register();
    std::vector<std::pair<const char*, const char*>> parts;
    for (const FlowBuffers& flow : buffers_of(cell)) {
        for (const BufferKey& key : {flow.source, flow.destination}) {
            const Buffer& buffer = buffers.at(key);
            EXPECT_EQ(buffer.gpu_ordinal, 0);
            EXPECT_EQ(buffer.bytes, on_gpus_factor * 4 * mega);
            const auto* const begin = static_cast<const char*>(buffer.on_device);
            parts.emplace_back(begin, begin + buffer.bytes + spare_bytes);
        }
    }
    std::sort(parts.begin(), parts.end());
    ASSERT_EQ(parts.size(), 4U);
    for (std::size_t i = 1; i < parts.size(); ++i) EXPECT_LE(parts[i - 1].second, parts[i].first);
}

}  // namespace
}  // namespace nearfar
