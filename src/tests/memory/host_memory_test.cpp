#include "memory/host_memory.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "memory/copy_series.h"

namespace nearfar {
namespace {

constexpr std::size_t size = std::size_t{8} << 20;

TEST(HostMemory, LiesOnItsNodeAndHoldsThePattern) {
    const Node node = read_node();
    for (const int numa : node.usable_memory()) {
        const HostBuffer buffer(node, numa, size, HostPages::ordinary, 42);
        EXPECT_EQ(buffer.memory_nodes(), std::vector<int>{numa});
        EXPECT_EQ(wrong_words(buffer.data(), {0, size / 8, 42, size, 0}), 0U);
        EXPECT_GT(wrong_words(buffer.data(), {0, size / 8, 43, size, 0}), size / 8 - 10) << "another seed's data must not pass";
    }
}

TEST(HostMemory, AnAbsentNodeIsWrongUse) { EXPECT_THROW(HostBuffer(read_node(), 4000, size, HostPages::ordinary, 1), WrongUse); }

TEST(HostMemory, ANodeWithoutMemoryOrLeaveIsSaidToBe) {
    Node node = read_node();
    node.numa_nodes[0].memory = 0;
    try {
        const HostBuffer buffer(node, node.numa_nodes[0].index, size, HostPages::ordinary, 1);
        FAIL() << "memory was found on a node without memory";
    } catch (const Prevented& why) {
        EXPECT_EQ(why.code, "no_memory");
    }
    node = read_node();
    node.numa_nodes[0].allowed = false;
    try {
        const HostBuffer buffer(node, node.numa_nodes[0].index, size, HostPages::ordinary, 1);
        FAIL() << "memory was taken from a forbidden node";
    } catch (const Prevented& why) {
        EXPECT_EQ(why.code, "not_allowed");
    }
}

TEST(HostMemory, MoreThanThereIsIsRefusedBeforeItIsTouched) {
    const Node node = read_node();
    EXPECT_THROW(HostBuffer(node, node.usable_memory().front(), std::size_t{1} << 50, HostPages::ordinary, 1), Prevented);
}

}  // namespace
}  // namespace nearfar
