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
    run.hosts = {{"a", {0, 1, 2}}};
    return run;
}

std::vector<RankSeen> seen(double latency, double moved) {
    std::vector<RankSeen> ranks(3);
    ranks[1].latency = {latency, 2 * latency, 3 * latency, 4 * latency, 1000};
    ranks[0].moved = {{moved}, {moved / 2}};
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

ContentionRun measured_run(const Rounds& rounds) {
    ContentionRun run = small_run();
    run.rounds = rounds;
    return run;
}

TEST(ContentionResults, SayWhatEachKindLosesToTheOther) {
    const std::vector<ContentionResult> results = contention_results(measured_run(six_rounds()));
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
    for (int round = 0; round < 6; ++round) {
        std::vector<RankSeen> ranks(2);
        ranks[0].latency.p50 = 2;
        run.rounds[{0, 0, Beside::nothing}].push_back(ranks);
    }
    const std::vector<ContentionResult> results = contention_results(run);
    ASSERT_EQ(results.size(), 1U);
    EXPECT_EQ(results[0].quantity, "mpi.pingpong.latency") << "never under OSU's name";
    EXPECT_FALSE(results[0].penalty);
    EXPECT_TRUE(results[0].converged);
}

TEST(ContentionResults, WrongDataAndStarvationAreKept) {
    Rounds rounds = six_rounds();
    rounds[{0, 0, Beside::moving}][3][2].wrong = true;
    rounds[{0, 0, Beside::moving}][4][0].moved[1].starved = true;
    const std::vector<ContentionResult> results = contention_results(measured_run(rounds));
    EXPECT_TRUE(results[0].wrong);
    EXPECT_FALSE(results[1].tasks[0].starved);
    EXPECT_TRUE(results[1].tasks[1].starved);
}

TEST(ContentionResults, NothingComesOfNothing) { EXPECT_TRUE(contention_results(small_run()).empty()); }

TEST(Phases, AreEachKindAloneBothAndThePollingControl) {
    const std::vector<PhaseKind> phases = phases_of(small_run().arrangements, 2);
    EXPECT_EQ(phases.size(), 7U) << "the movers alone once, and for each traffic: alone, together, beside polling";
    EXPECT_EQ(phases_of({{"mpi_only", Layout::apart, 0, 1}}, 2).size(), 2U);
}

TEST(Percentiles, AreNearestRanks) {
    std::vector<float> values;
    for (int i = 1000; i >= 1; --i) values.push_back(static_cast<float>(i));
    const Percentiles found = percentiles_of(values);
    EXPECT_EQ(found.p50, 500);
    EXPECT_EQ(found.p95, 950);
    EXPECT_EQ(found.p99, 990);
    EXPECT_EQ(found.max, 1000);
    EXPECT_EQ(found.n, 1000U);
}

TEST(Percentiles, OfOneAndOfNone) {
    std::vector<float> one{7};
    EXPECT_EQ(percentiles_of(one).p99, 7);
    std::vector<float> none;
    EXPECT_EQ(percentiles_of(none).n, 0U);
}

TEST(Penalties, AreOfTheSameRound) {
    // The machine is half as fast from round to round; the penalty of each is the same.
    const std::optional<Summary> penalty = penalty_of({2.2, 4.4, 8.8}, {2, 4, 8}, true);
    ASSERT_TRUE(penalty);
    EXPECT_NEAR(penalty->median, 0.1, 1e-12);
    EXPECT_NEAR(penalty->high - penalty->low, 0, 1e-12);
    EXPECT_NEAR(penalty_of({40, 20}, {50, 25}, false)->median, 0.2, 1e-12);
}

TEST(Penalties, AreNegativeWhereTogetherIsFaster) {
    EXPECT_LT(penalty_of({1.9}, {2}, true)->median, 0);
    EXPECT_LT(penalty_of({51}, {50}, false)->median, 0);
}

TEST(Penalties, AStarvedTaskLosesEverythingAndALostLatencyIsNoSample) {
    EXPECT_EQ(penalty_of({0, 0}, {50, 50}, false)->median, 1);
    EXPECT_EQ(penalty_of({0, 2.2}, {2, 2}, true)->n(), 1U);
    EXPECT_FALSE(penalty_of({0}, {2}, true));
    EXPECT_FALSE(penalty_of({1}, {0}, false));
}

TEST(Penalties, AreNarrowInTheirOwnUnit) {
    EXPECT_FALSE(is_narrow(summarise({0.10, 0.10, 0.10}), 0.02)) << "three rounds say nothing of the median";
    EXPECT_TRUE(is_narrow(summarise({0.00, 0.01, 0.01, 0.02, 0.03, 0.03}), 0.02)) << "a small median is no reason to go on";
    EXPECT_FALSE(is_narrow(summarise({0.00, 0.01, 0.01, 0.02, 0.03, 0.05}), 0.02));
}

}  // namespace
}  // namespace nearfar
