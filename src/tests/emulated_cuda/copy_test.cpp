// Cells of every kind on emulated GPUs: how they are measured, and what is said when something goes wrong.
#include <gtest/gtest.h>

#include <cstdlib>

#include "copy/copy_bench.h"
#include "tests/gpu/tested_gpus.h"

namespace nearfar {
namespace {

// The outcome of cells on GPUs that are emulated in this way.
Session measured(const char* emulated, const std::vector<std::string>& texts, Policy policy = {}) {
    setenv("EMULATED_CUDA", emulated, 1);
    const Node node = node_with_gpus();
    std::vector<Cell> cells;
    for (const std::string& text : texts) cells.push_back(parse_key(text));
    policy.least_visits = policy.most_visits = 1;
    policy.target = 0.5;
    policy.warm_up_seconds = 0.01;
    policy.sample_seconds = 0.004;
    policy.windowed_seconds = policy.solo_seconds = 5;  // at most: where CPUs are busy
    CopyBench bench(node, policy, cells);
    Session session;
    bench.measure(
        session, [](const Step&) {}, [] {});
    return session;
}

std::string told(const Session& session) {
    std::string all;
    for (const auto* cells : {&session.failed, &session.skipped})
        for (const NotMeasured& cell : *cells) all += cell.cell + " " + cell.code + ": " + cell.reason + "\n";
    return all;
}

TEST(EmulatedCopy, CellsOfEveryKindAreMeasuredAndRight) {
    const std::vector<std::string> cells{"n0:g0",          "g0:n0/sm",         "n0:g0+g0:n0",      "n0:g0+n0:g1",
                                         "g0:g1",          "g0:g1@g1/sm",      "g0:g1/staged",     "g0:g1+g1:g0",
                                         "n0:g0/pageable", "n0:g0/x2/threads", "n0:g0+g0:g0/gemm", "c0:n0/triad/one+n0:g0+g0:n0"};
    const Session session = measured("gpus=2", cells);
    EXPECT_EQ(session.results.size(), cells.size()) << told(session);
    for (const CellResult& result : session.results) EXPECT_TRUE(result.verified) << result.cell.text();
}

TEST(EmulatedCopy, WithinOneGpuCopiesAreMeasuredAloneAndInCompanyAndRight) {
    const std::vector<std::string> cells{"g0:g0",          "g1:g1/sm",    "g0:g0/x2/threads", "g0:g0+g1:g1",
                                         "g0:g0+g0:g0/sm", "g0:g0+n0:g0", "g0:g0+g0:g1"};
    const Session session = measured("gpus=2", cells);
    EXPECT_EQ(session.results.size(), cells.size()) << told(session);
    for (const CellResult& result : session.results) {
        ASSERT_TRUE(result.verified) << result.cell.text();
        EXPECT_EQ(result.verified->seen, result.verified->copies) << result.cell.text();
        const bool lone = result.cell.flows.size() == 1 && result.cell.flows[0].tasks == 1;
        EXPECT_EQ(result.method, lone ? "latched" : "windowed") << result.cell.text();
        const FlowResult& flow = result.flows[0];
        ASSERT_TRUE(flow.ceiling) << result.cell.text();
        EXPECT_NEAR(*flow.ceiling, 6.4, 1e-9);  // the emulated memory's clock and width
        EXPECT_GT(flow.rate.median, 0);
        EXPECT_LT(flow.rate.median, *flow.ceiling);
        EXPECT_TRUE(flow.memory_nodes.empty());
    }
}

TEST(EmulatedCopy, WithinOneGpuQuicklyAtSizesAndTheirLatencies) {
    Policy quick;
    quick.quick = true;
    EXPECT_EQ(measured("gpus=3", {"g0:g0", "g1:g1", "g2:g2"}, quick).results.size(), 3U);
    Policy sizes;
    sizes.sizes = {1, 4096, 1 << 20};
    EXPECT_EQ(measured("gpus=3", {"g0:g0 sizes", "g0:g0/sm sizes"}, sizes).results.size(), 6U);
    EXPECT_EQ(measured("gpus=3", {"g0:g0 latency"}).results.size(), 3U);
}

TEST(EmulatedCopy, WithinOneGpuNothingOfPeerAccessIsAsked) {
    const Session session = measured("gpus=2,peer_access=0", {"g0:g0", "g0:g1"});
    ASSERT_EQ(session.results.size(), 1U) << told(session);
    EXPECT_EQ(session.results[0].cell.text(), "g0:g0");
}

TEST(EmulatedCopy, PairsThatShareNoLinkAreMeasuredTogether) {
    Policy policy;
    policy.quick = true;
    const Session session = measured("gpus=4", {"g0:g1", "g2:g3", "g1:g2", "g3:g0"}, policy);
    EXPECT_EQ(session.results.size(), 4U) << told(session);
}

TEST(EmulatedCopy, LatenciesAreMeasured) {
    const Session session = measured("gpus=2", {"n0:g0 latency", "g0:g1 latency"});
    EXPECT_EQ(session.results.size(), 6U) << told(session);
}

TEST(EmulatedCopy, WrongBytesFailTheirCell) {
    const Session session = measured("gpus=1,wrong=1000", {"n0:g0", "g0:n0/sm", "g0:g0"});
    ASSERT_EQ(session.failed.size(), 3U) << told(session);
    for (const NotMeasured& cell : session.failed) EXPECT_EQ(cell.code, "wrong_data");
}

TEST(EmulatedCopy, MemoryThatIsShortIsToldOfTheBufferThatMissesIt) {
    // Of four buffers in device memory the second is not to be had.
    const Session session = measured("gpus=2,fault=cudaMalloc:2:error=2", {"n0:g0", "g0:n0", "n0:g1", "g1:n0"});
    ASSERT_EQ(session.skipped.size(), 1U) << told(session);
    EXPECT_EQ(session.skipped[0].code, "no_memory");
    EXPECT_EQ(session.results.size(), 3U);
}

}  // namespace
}  // namespace nearfar
