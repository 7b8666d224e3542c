#include "cell/matrix.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace nearfar {
namespace {

// Two packages with a NUMA node each, a third without CPUs (memory only), a fourth that is GPU memory.
Node constructed() {
    Node node;
    node.packages = {{0, {0, 1}}, {1, {2, 3}}};
    node.numa_nodes = {{0, 0, {0, 1}, 1 << 30}, {1, 1, {2, 3}, 1 << 30}, {2, 1, {}, 1 << 30}, {3, {}, {}, 1 << 30, true}};
    node.allowed_cpus = {0, 1, 2, 3};
    for (int a = 0; a < 3; ++a)
        for (int b = 0; b < 3; ++b) node.distances[{a, b}] = a == b ? 10 : a + b == 3 ? 12 : 21;
    PciGpu gpu;
    gpu.pci = "0000:1b:00.0";
    node.gpus = {gpu};
    return node;
}

std::vector<std::string> texts(const std::vector<Cell>& cells) {
    std::vector<std::string> all;
    for (const Cell& cell : cells) all.push_back(cell.text());
    return all;
}

TEST(Matrix, EveryHostNodeWithEveryGpu) {
    EXPECT_EQ(texts(host_device_matrix(constructed()).cells),
              (std::vector<std::string>{"n0:g0", "g0:n0", "n0:g0+g0:n0", "n1:g0", "g0:n1", "n1:g0+g0:n1", "n2:g0", "g0:n2",
                                        "n2:g0+g0:n2"}));
}

TEST(Matrix, StreamFromEveryNodeWithCores) {
    EXPECT_EQ(texts(stream_matrix(constructed()).cells),
              (std::vector<std::string>{"c0:n0/triad", "c0:n1/triad", "c0:n2/triad", "c1:n0/triad", "c1:n1/triad", "c1:n2/triad",
                                        "c0:n0/triad+c1:n1/triad"}));
}

TEST(Matrix, ForbiddenNodesAreLeftOut) {
    Node node = constructed();
    node.allowed_cpus = {0, 1};
    node.numa_nodes[1].allowed = false;
    EXPECT_EQ(texts(stream_matrix(node).cells), (std::vector<std::string>{"c0:n0/triad", "c0:n2/triad"}));
}

TEST(Node, MemoryWithoutCpusIsDrivenFromTheNearest) { EXPECT_EQ(constructed().driving_cpus(2), (std::vector<int>{2, 3})); }

TEST(Node, ForbiddenCpusAreNotReplacedByOthers) {
    Node node = constructed();
    node.allowed_cpus = {0, 1};
    EXPECT_THROW(node.driving_cpus(1), Prevented);
    EXPECT_EQ(node.nearest_cpus(1), (std::vector<int>{0, 1})) << "what is not a flow of its memory needs no CPU of the node";
}

TEST(Matrix, UnknownEndpointsNameWhatThereIs) {
    try {
        require_endpoints({parse_cell("n0:g4")}, constructed());
        FAIL() << "g4 was accepted";
    } catch (const WrongUse& error) {
        EXPECT_STREQ(error.what(), "cell 'n0:g4': there is no g4: this node has 1 GPU(s), g0 to g0");
    }
    EXPECT_THROW(require_endpoints({parse_cell("n9:g0")}, constructed()), WrongUse);
    EXPECT_THROW(require_endpoints({parse_cell("n0:g0@n9")}, constructed()), WrongUse);
}

TEST(Node, PciAddressesHaveOneForm) {
    EXPECT_EQ(normal_pci("00000000:1B:00.0"), "0000:1b:00.0");
    EXPECT_EQ(normal_pci("1b:00.0"), "0000:1b:00.0");
    EXPECT_EQ(normal_pci("0004:04:00.0"), "0004:04:00.0");
    EXPECT_THROW(normal_pci("GPU-0"), WrongUse);
    EXPECT_THROW(normal_pci("0000:1b:00.0; rm"), WrongUse);
}

}  // namespace
}  // namespace nearfar
