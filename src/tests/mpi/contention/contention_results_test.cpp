#include "mpi/contention/contention_results.h"

#include <gtest/gtest.h>

namespace nearfar {
namespace {

// One mover (rank 0) and one pair (ranks 1 and 2) on one host; messages of 8 bytes.
ContentionRun small_run() {
    ContentionRun run;
    run.roles = roles_of({{"a", {0, 1, 2}}}, Layout::apart, 1);
    run.arrangements = arrangements_of(run.roles, {Layout::apart}, 1);
    run.traffics = {{Traffic::Kind::ping_pong, 8}};
    run.cells = {parse_cell("n0:g0+g0:n0")};
    run.chunks = {1 << 20, 1 << 20};
    return run;
}

std::vector<RankSeen> seen(double latency, double moved) {
    std::vector<RankSeen> ranks(3);
    ranks[1].latency = {latency, 2 * latency, 3 * latency, 4 * latency, 1000};
    ranks[0].moved = {moved, moved / 2};
    return ranks;
}

Rounds six_rounds() {
    Rounds rounds;
    for (int round = 0; round < 6; ++round) {
        rounds[{0, -1, Beside::moving}].push_back(seen(0, 50));
        rounds[{0, 0, Beside::nothing}].push_back(seen(1.0, 0));
        rounds[{0, 0, Beside::moving}].push_back(seen(1.5, 40));
        rounds[{0, 0, Beside::polling}].push_back(seen(1.1, 0));
    }
    return rounds;
}

TEST(ContentionResults, SayWhatEachKindLosesToTheOther) {
    const std::vector<ContentionResult> results = contention_results(small_run(), six_rounds());
    ASSERT_EQ(results.size(), 2U);
    const ContentionResult& mpi = results[0];
    EXPECT_EQ(mpi.quantity, "contention.mpi.latency");
    EXPECT_EQ(mpi.subject, "within.per_task.1.pingpong_8B");
    EXPECT_NEAR(mpi.penalty->median, 0.5, 1e-9);
    EXPECT_NEAR(mpi.tail_penalty->median, 0.5, 1e-9);
    EXPECT_NEAR(mpi.polled_penalty->median, 0.1, 1e-9) << "what the cores cost, without the bus";
    EXPECT_EQ(mpi.tasks[0].name, "r1:r2");
    EXPECT_EQ(mpi.tasks[0].spread.n, 6000U);
    EXPECT_NEAR(mpi.tasks[0].spread.max, 6.0, 1e-9);
    EXPECT_TRUE(mpi.converged);
    const ContentionResult& gpu = results[1];
    EXPECT_EQ(gpu.quantity, "contention.gpu.bandwidth");
    EXPECT_EQ(gpu.tasks[1].name, "g0:n0");
    EXPECT_NEAR(gpu.total.median, 60, 1e-9) << "the sum of both directions";
    EXPECT_NEAR(gpu.penalty->median, 0.2, 1e-9);
}

TEST(ContentionResults, MpiAloneHasNoPenaltyAndANameOfItsOwn) {
    ContentionRun run = small_run();
    run.roles = roles_of({{"a", {0, 1}}}, Layout::apart, 0);
    run.arrangements = arrangements_of(run.roles, {Layout::apart}, 0);
    Rounds rounds;
    for (int round = 0; round < 6; ++round) {
        std::vector<RankSeen> ranks(2);
        ranks[0].latency.p50 = 2;
        rounds[{0, 0, Beside::nothing}].push_back(ranks);
    }
    const std::vector<ContentionResult> results = contention_results(run, rounds);
    ASSERT_EQ(results.size(), 1U);
    EXPECT_EQ(results[0].quantity, "mpi.pingpong.latency") << "never under OSU's name";
    EXPECT_FALSE(results[0].penalty);
    EXPECT_TRUE(results[0].converged);
}

TEST(ContentionResults, WrongDataAndStarvationAreKept) {
    Rounds rounds = six_rounds();
    rounds[{0, 0, Beside::moving}][3][2].wrong = true;
    rounds[{0, 0, Beside::moving}][4][0].starved[1] = true;
    const std::vector<ContentionResult> results = contention_results(small_run(), rounds);
    EXPECT_TRUE(results[0].wrong);
    EXPECT_FALSE(results[1].tasks[0].starved);
    EXPECT_TRUE(results[1].tasks[1].starved);
}

TEST(ContentionResults, NothingComesOfNothing) { EXPECT_TRUE(contention_results(small_run(), {}).empty()); }

TEST(Phases, AreEachKindAloneBothAndThePollingControl) {
    const std::vector<PhaseKind> phases = phases_of(small_run().arrangements, 2);
    EXPECT_EQ(phases.size(), 7U) << "the movers alone once, and for each traffic: alone, together, beside polling";
    EXPECT_EQ(phases_of({{"mpi_only", Layout::apart, 0, 1}}, 2).size(), 2U);
}

}  // namespace
}  // namespace nearfar
