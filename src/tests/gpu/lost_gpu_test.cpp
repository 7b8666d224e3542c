// A GPU is lost in the middle of a session.
#include <gtest/gtest.h>

#include <set>

#include "copy/copy_bench.h"
#include "tests/gpu/tested_gpus.h"

namespace nearfar {
namespace {

// The session of these cells, in which GPU 1 breaks before the third.
struct Broken {
    Session session;
    std::string pci;

    explicit Broken(const std::vector<std::string>& texts) {
        const Node node = node_with_gpus();
        pci = node.gpus[1].pci;
        std::vector<Cell> cells;
        for (const std::string& text : texts) cells.push_back(parse_cell(text));
        CopyBench bench(node, Policy{}, cells);
        const auto progress = [&](const Step& step) {
            if (step.cells == std::vector<std::string>{texts[2]}) break_gpu(bench.gpus().at(1));
        };
        bench.measure(session, progress, [] {});
    }
};

TEST(LostGpu, IsNamedAndWhatItTookAlongIsLeftForANewProcess) {
    if (node_with_gpus().gpus.size() < 2) GTEST_SKIP() << "needs two GPUs";
    Broken broken({"n0:g0", "n0:g1", "g1:n0", "n0:g0+n0:g1", "g0:g1", "g0:n0"});
    Session& session = broken.session;
    std::string all;
    for (const auto* cells : {&session.failed, &session.skipped})
        for (const NotMeasured& cell : *cells) all += cell.cell + " " + cell.code + ": " + cell.reason + "\n";
    // What was visited before goes on with the GPU's cells: they have failed too.
    ASSERT_EQ(session.failed.size(), 4U) << all;
    for (const NotMeasured& cell : session.failed) {
        EXPECT_EQ(cell.code, "lost") << cell.cell;
        EXPECT_EQ(cell.reason.find("g1 (" + broken.pci + ") was lost while g1:n0 was measured"), 0U) << cell.reason;
    }
    // The driver of the day decides whether the other GPU's context lives on.
    std::vector<std::string> measured;
    for (const CellResult& result : session.results) measured.push_back(result.cell.text());
    if (session.spent.empty()) {
        EXPECT_EQ(std::set<std::string>(measured.begin(), measured.end()), (std::set<std::string>{"n0:g0", "g0:n0"}));
        return;
    }
    EXPECT_TRUE(measured.empty()) << "those of GPU 0 are left without an answer, for a new process";
    EXPECT_TRUE(session.skipped.empty()) << all;
}

}  // namespace
}  // namespace nearfar
