#include "engine/rounds.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "core/clock.h"
#include "core/error.h"
#include "core/interrupt.h"

namespace nearfar {
namespace {

// One visit that saw this rate.
std::vector<CellResult> seen(const Cell& cell, double rate) {
    CellResult result;
    result.cell = cell;
    result.total = summarise(std::vector<double>(6, rate));
    result.flows.resize(cell.flows.size());
    for (FlowResult& flow : result.flows) flow.rate = result.total;
    result.visits = {{0, 0, 6}};
    result.converged = true;
    return {result};
}

Policy without_pauses() {
    Policy policy;
    policy.between_visits = 0;
    return policy;
}

std::vector<Cell> cells_of(const std::vector<std::string>& texts) {
    std::vector<Cell> cells;
    for (const std::string& text : texts) cells.push_back(parse_cell(text));
    return cells;
}

const Progress silent = [](const Step&) {};

TEST(Rounds, AQuietCellIsVisitedThreeTimes) {
    Session session;
    measure_in_rounds(cells_of({"n0:g0", "n0:g1"}), without_pauses(), 0, session, silent,
                      [](const Cell& cell, double, int) { return seen(cell, 55); });
    ASSERT_EQ(session.results.size(), 2U);
    for (const CellResult& result : session.results) {
        EXPECT_EQ(result.visits.size(), 3U);
        EXPECT_EQ(result.total.n(), 18U);
        EXPECT_TRUE(result.converged);
        ASSERT_TRUE(result.total.plateau);
        EXPECT_EQ(result.total.plateau->value, 55);
        EXPECT_EQ(result.flows[0].rate.plateau->value, 55);
    }
    EXPECT_TRUE(session.so_far.empty());
}

TEST(Rounds, ANoisyOneIsVisitedUntilItsBestIsReachedAgain) {
    Session session;
    const std::vector<double> rates{51, 51.2, 55, 53, 54.9, 50, 54.9, 55};
    measure_in_rounds(cells_of({"n0:g0"}), without_pauses(), 0, session, silent,
                      [&](const Cell& cell, double, int round) { return seen(cell, rates[static_cast<std::size_t>(round)]); });
    ASSERT_EQ(session.results.size(), 1U);
    EXPECT_EQ(session.results[0].visits.size(), 7U);
    EXPECT_TRUE(session.results[0].converged);
    EXPECT_GT(session.results[0].total.plateau->value, 54.7);
    EXPECT_LT(session.results[0].total.plateau->steadiness, 0.98);
}

TEST(Rounds, WhatIsNeverReachedAgainEndsAtTheMostVisitsAndSaysSo) {
    Session session;
    measure_in_rounds(cells_of({"n0:g0"}), without_pauses(), 0, session, silent,
                      [&](const Cell& cell, double, int round) { return seen(cell, 50 + round); });
    ASSERT_EQ(session.results.size(), 1U);
    EXPECT_EQ(session.results[0].visits.size(), 8U);
    EXPECT_FALSE(session.results[0].converged);
}

TEST(Rounds, TasksThatShareAFlowHaveNoPlateau) {
    Session session;
    measure_in_rounds(cells_of({"n0:g0/x2"}), without_pauses(), 0, session, silent,
                      [&](const Cell& cell, double, int) { return seen(cell, 25); });
    ASSERT_EQ(session.results.size(), 1U);
    EXPECT_FALSE(session.results[0].total.plateau);
    EXPECT_EQ(session.results[0].total.median, 25);
    EXPECT_TRUE(session.results[0].converged);
}

TEST(Rounds, NeighboursOfTheListAreNotVisitedOneAfterTheOther) {
    for (std::size_t cells = 5; cells < 100; ++cells) {
        for (int round = 0; round < 3; ++round) {
            const std::vector<std::size_t> order = order_of_round(cells, round);
            ASSERT_EQ(std::set<std::size_t>(order.begin(), order.end()).size(), cells) << "every cell once";
            for (std::size_t i = 1; i < cells; ++i)
                EXPECT_GT(std::abs(static_cast<long>(order[i]) - static_cast<long>(order[i - 1])), 1) << cells << " cells";
        }
    }
}

TEST(Rounds, OneBadCellDoesNotEndTheRest) {
    Session session;
    int calls = 0;
    measure_in_rounds(cells_of({"n0:g0", "n0:g1", "n0:g2"}), without_pauses(), 0, session, silent,
                      [&](const Cell& cell, double, int) {
                          ++calls;
                          if (cell.text() == "n0:g0") throw Prevented("busy", "taken");
                          if (cell.text() == "n0:g1") throw Failure("lost", "gone");
                          return seen(cell, 55);
                      });
    EXPECT_EQ(calls, 5);
    ASSERT_EQ(session.skipped.size(), 1U);
    EXPECT_EQ(session.skipped[0].code, "busy");
    ASSERT_EQ(session.failed.size(), 1U);
    EXPECT_EQ(session.failed[0].cell, "n0:g1");
    EXPECT_EQ(session.results.size(), 1U);
}

TEST(Rounds, WhatFailsInALaterVisitHasFailed) {
    Session session;
    measure_in_rounds(cells_of({"n0:g0"}), without_pauses(), 0, session, silent, [&](const Cell& cell, double, int round) {
        if (round == 1) throw Failure("wrong_data", "words are wrong");
        return seen(cell, 55);
    });
    EXPECT_TRUE(session.results.empty());
    ASSERT_EQ(session.failed.size(), 1U);
    EXPECT_EQ(session.failed[0].code, "wrong_data");
    EXPECT_TRUE(session.so_far.empty());
}

TEST(Rounds, WhatPreventsALaterVisitLeavesTheCellWithThoseItHad) {
    Session session;
    measure_in_rounds(cells_of({"n0:g0"}), without_pauses(), 0, session, silent, [&](const Cell& cell, double, int round) {
        if (round == 2) throw Prevented("interrupted", "interrupted while it was measured");
        return seen(cell, 55);
    });
    ASSERT_EQ(session.results.size(), 1U);
    EXPECT_EQ(session.results[0].visits.size(), 2U);
    EXPECT_FALSE(session.results[0].converged);
    EXPECT_TRUE(session.skipped.empty());
    EXPECT_TRUE(session.interrupted);
}

TEST(Rounds, ACellThatGoesOnIsToldSoFar) {
    Session session;
    std::vector<std::size_t> told;
    measure_in_rounds(
        cells_of({"n0:g0"}), without_pauses(), 0, session,
        [&](const Step& step) {
            EXPECT_EQ(step.cells, std::vector<std::string>{"n0:g0"});
            told.push_back(session.so_far.count("n0:g0") ? session.so_far["n0:g0"].front().visits.size() : 0);
        },
        [](const Cell& cell, double, int) { return seen(cell, 55); });
    EXPECT_EQ(told, (std::vector<std::size_t>{0, 1, 2}));
}

TEST(Rounds, AbsentEndpointsAreWrongUseOrFailAlone) {
    Node node;
    node.numa_nodes = {{0, 0, {0}, 1 << 30}};
    Session session;
    std::vector<Cell> cells{parse_cell("c0:n0/copy"), parse_cell("c0:n7/copy")};
    EXPECT_THROW(set_absent_aside(cells, node, false, session), WrongUse);
    set_absent_aside(cells, node, true, session);
    ASSERT_EQ(cells.size(), 1U);
    EXPECT_EQ(cells[0].text(), "c0:n0/copy");
    ASSERT_EQ(session.failed.size(), 1U);
    EXPECT_EQ(session.failed[0].code, "absent");
    EXPECT_EQ(session.failed[0].reason, "there is no n7: this node has NUMA nodes 0");
}

TEST(Rounds, AnUsedUpBudgetIsSaid) {
    Session session;
    Policy policy;
    policy.budget = 1e-9;
    measure_in_rounds(cells_of({"n0:g0"}), policy, 0, session, silent,
                      [](const Cell& cell, double, int) { return seen(cell, 55); });
    ASSERT_EQ(session.skipped.size(), 1U);
    EXPECT_EQ(session.skipped[0].code, "budget");
}

TEST(Rounds, ABudgetThatEndsBeforeTheSecondVisitClaimsNoPlateau) {
    Session session;
    Policy policy = without_pauses();
    policy.budget = 0.05;
    measure_in_rounds(cells_of({"n0:g0"}), policy, now(), session, silent, [](const Cell& cell, double, int) {
        for (const double end = now() + 0.06; now() < end;) continue;
        return seen(cell, 55);
    });
    ASSERT_EQ(session.results.size(), 1U);
    EXPECT_FALSE(session.results[0].total.plateau);
    EXPECT_FALSE(session.results[0].converged);
}

TEST(Rounds, WindowsGetMoreOfABudgetThanLoneFlows) {
    Session session;
    Policy policy = without_pauses();
    policy.budget = 10;
    std::map<std::string, double> shares;
    measure_in_rounds(cells_of({"n0:g0", "n0:g0+g0:n0", "g0:n0"}), policy, now(), session, silent,
                      [&](const Cell& cell, double seconds, int round) {
                          if (round == 0) shares[cell.text()] = seconds;
                          return seen(cell, 55);
                      });
    ASSERT_EQ(shares.size(), 3U);
    EXPECT_NEAR(shares["n0:g0"], 10.0 / 8, 0.1);
    EXPECT_GT(shares["n0:g0+g0:n0"], 10.0 * 6 / 8 - 0.1);
}

TEST(Rounds, AThousandCellsAreNoTrouble) {
    Session session;
    std::vector<Cell> cells;
    for (int i = 0; i < 1000; ++i) cells.push_back(parse_cell("n" + std::to_string(i) + ":g0"));
    measure_in_rounds(cells, without_pauses(), 0, session, silent, [](const Cell& cell, double, int) { return seen(cell, 55); });
    EXPECT_EQ(session.results.size(), 1000U);
}

// Cells in company: what they reach there and alone is given, others reach 395 and 396 GB/s.
class RoundsInCompany : public testing::Test {
protected:
    Policy policy = without_pauses();
    Session session;
    std::map<std::string, double> in_company;
    std::map<std::string, double> alone;
    std::map<std::string, double> quick;  // alone, in one short visit
    std::map<std::string, std::exception_ptr> trouble;
    std::set<std::string> spoilt;  // neither result nor trouble in company
    std::vector<std::string> calls;
    std::vector<double> sample_seconds;  // of the calls alone
    std::function<void()> at_call = [] {};

    void run(const std::vector<std::string>& texts, const std::vector<std::vector<std::size_t>>& sets) {
        Bench bench;
        bench.alone = [this](const Cell& cell, const Policy& how, double, int) {
            calls.push_back(cell.text());
            sample_seconds.push_back(how.sample_seconds);
            at_call();
            return seen(cell, rate_of(how.sample_seconds < policy.sample_seconds ? quick : alone, cell, 396));
        };
        bench.together = [this](const std::vector<Cell>& cells, const Policy&, double) {
            std::vector<SetOutcome> outcomes(cells.size());
            std::string text;
            for (std::size_t i = 0; i < cells.size(); ++i) {
                text += (i > 0 ? "+" : "") + cells[i].text();
                outcomes[i].trouble = trouble[cells[i].text()];
                if (outcomes[i].trouble || spoilt.count(cells[i].text()) > 0) continue;
                outcomes[i].result = seen(cells[i], rate_of(in_company, cells[i], 395))[0];
                outcomes[i].result->beside = {"others"};
            }
            calls.push_back(text);
            at_call();
            return outcomes;
        };
        bench.doubted = [](const std::vector<CellResult>& known) {
            std::vector<std::size_t> found;
            for (std::size_t i = 0; i < known.size(); ++i)
                if (known[i].total.median < 390) found.push_back(i);
            return found;
        };
        measure_in_rounds(cells_of(texts), sets, policy, 0, session, silent, bench);
    }

    const CellResult& of(const std::string& cell) const {
        for (const CellResult& result : session.results)
            if (result.cell.text() == cell) return result;
        throw std::out_of_range(cell);
    }

    static double rate_of(const std::map<std::string, double>& rates, const Cell& cell, double otherwise) {
        const auto known = rates.find(cell.text());
        return known == rates.end() ? otherwise : known->second;
    }
};

const std::vector<std::string> three_pairs{"g0:g1", "g2:g3", "g4:g5"};

TEST_F(RoundsInCompany, EachCellOfASetHasTheVisitsAndAResultOfItsOwn) {
    run(three_pairs, {{0, 1, 2}});
    EXPECT_EQ(calls, std::vector<std::string>(2, "g0:g1+g2:g3+g4:g5"));
    ASSERT_EQ(session.results.size(), 3U);
    for (const CellResult& result : session.results) {
        EXPECT_EQ(result.visits.size(), 2U);
        EXPECT_TRUE(result.converged);
        EXPECT_FALSE(result.beside.empty());
        EXPECT_FALSE(result.remeasured);
    }
    EXPECT_TRUE(session.so_far.empty());
}

TEST_F(RoundsInCompany, ASetIsVisitedUntilAllOfItsCellsAreSettled) {
    int visits = 0;
    at_call = [&] { in_company["g2:g3"] = 395 + 3.0 * std::min(++visits, 2); };
    run(three_pairs, {{0, 1, 2}});
    EXPECT_EQ(of("g2:g3").visits.size(), of("g0:g1").visits.size());
    EXPECT_EQ(of("g2:g3").visits.size(), 5U) << "395, 398, 401, 401, 401";
    EXPECT_TRUE(of("g0:g1").converged && of("g2:g3").converged);
}

TEST_F(RoundsInCompany, SoManyVisitsAsAreAskedFor) {
    policy.visits = 4;
    in_company["g0:g1"] = 300;
    run(three_pairs, {{0, 1, 2}});
    for (const CellResult& result : session.results) EXPECT_EQ(result.visits.size(), 4U) << result.cell.text();
    EXPECT_EQ(calls.size(), 8U) << "four together, four alone";
}

TEST_F(RoundsInCompany, WhatIsDoubtedIsVisitedAloneAndThatCounts) {
    in_company = {{"g2:g3", 300}, {"g4:g5", 301}};
    alone = {{"g4:g5", 302}};
    run(three_pairs, {{0, 1, 2}});
    EXPECT_EQ(of("g0:g1").total.median, 395);
    EXPECT_EQ(of("g2:g3").total.median, 396);
    EXPECT_EQ(of("g4:g5").total.median, 302) << "it is slow";
    for (const char* cell : {"g2:g3", "g4:g5"}) {
        EXPECT_TRUE(of(cell).beside.empty());
        EXPECT_TRUE(of(cell).remeasured);
        EXPECT_EQ(of(cell).visits.size(), 2U) << "those in company are left out";
    }
}

TEST_F(RoundsInCompany, NoAnswerIsGivenBeforeAllAreCompared) {
    std::size_t results = 0;
    at_call = [&] { results = std::max(results, session.results.size()); };
    in_company["g1:g2"] = 396;
    run({"g0:g1", "g2:g3", "g4:g5", "g1:g2", "g3:g4", "g5:g0"}, {{0, 1, 2}, {3, 4, 5}});
    EXPECT_EQ(results, 0U);
    EXPECT_EQ(session.results.size(), 6U);
}

TEST_F(RoundsInCompany, OneThatFailsFailsAloneAndThoseThatItSpoiledAreMeasuredAlone) {
    trouble["g0:g1"] = std::make_exception_ptr(Failure("lost", "gone"));
    spoilt = {"g2:g3", "g4:g5"};
    run(three_pairs, {{0, 1, 2}});
    ASSERT_EQ(session.failed.size(), 1U);
    EXPECT_EQ(session.failed[0].cell, "g0:g1");
    EXPECT_EQ(of("g2:g3").total.median, 396);
    EXPECT_EQ(of("g4:g5").total.median, 396);
    EXPECT_FALSE(of("g4:g5").remeasured) << "nobody doubted it";
    EXPECT_EQ(calls.size(), 5U);
}

TEST_F(RoundsInCompany, WhoLosesAllOthersBeginsAnewAlone) {
    at_call = [&] {
        trouble["g0:g1"] = std::make_exception_ptr(Failure("lost", "gone"));
        trouble["g2:g3"] = std::make_exception_ptr(Prevented("busy", "taken"));
    };
    run(three_pairs, {{0, 1, 2}});
    EXPECT_EQ(session.failed.size(), 1U);
    EXPECT_EQ(of("g2:g3").visits.size(), 1U) << "what it had";
    EXPECT_FALSE(of("g2:g3").converged);
    EXPECT_EQ(of("g4:g5").total.median, 396);
    EXPECT_EQ(of("g4:g5").visits.size(), 2U);
    EXPECT_TRUE(of("g4:g5").beside.empty());
}

TEST_F(RoundsInCompany, WithoutAVisitAloneADoubtedFigureIsCutShort) {
    in_company["g2:g3"] = 300;
    policy.budget = 0.1;
    at_call = [&] {
        if (calls.size() == 2)
            for (const double end = now() + 0.1; now() < end;) continue;
    };
    const double begin = now();
    policy.budget += begin;  // which counts from 0 on
    run(three_pairs, {{0, 1, 2}});
    EXPECT_EQ(of("g2:g3").visits.size(), 2U);
    EXPECT_FALSE(of("g2:g3").converged);
    ASSERT_TRUE(of("g2:g3").cut_short);
    EXPECT_EQ(of("g2:g3").cut_short->code, "budget");
    EXPECT_TRUE(of("g0:g1").converged);
}

TEST_F(RoundsInCompany, ASpentProcessLeavesThemWithoutAnAnswer) {
    const auto spent = std::make_exception_ptr(ProcessSpent("CUDA is gone"));
    trouble = {{"g0:g1", spent}, {"g2:g3", spent}, {"g4:g5", spent}};
    run(three_pairs, {{0, 1, 2}});
    EXPECT_EQ(session.spent, "CUDA is gone");
    EXPECT_TRUE(session.results.empty() && session.failed.empty() && session.skipped.empty() && session.so_far.empty());
}

TEST_F(RoundsInCompany, AnUnusableBudgetIsSaidOfEach) {
    policy.budget = 1e-9;
    run(three_pairs, {{0, 1, 2}});
    EXPECT_TRUE(calls.empty());
    ASSERT_EQ(session.skipped.size(), 3U);
    EXPECT_EQ(session.skipped[0].code, "budget");
}

TEST_F(RoundsInCompany, QuickCellsAreVisitedOnceInCompanyOrShortlyAlone) {
    policy.quick = true;
    run({"g0:g1", "g2:g3", "g0:g2"}, {{0, 1}, {2}});
    EXPECT_EQ(calls, (std::vector<std::string>{"g0:g1+g2:g3", "g0:g2"}));
    EXPECT_EQ(sample_seconds, std::vector<double>{quick_policy(policy).sample_seconds});
    EXPECT_LT(sample_seconds[0], policy.sample_seconds);
    ASSERT_EQ(session.results.size(), 3U);
    for (const CellResult& result : session.results) EXPECT_TRUE(result.converged && !result.remeasured) << result.cell.text();
    EXPECT_TRUE(session.so_far.empty());
}

TEST_F(RoundsInCompany, AQuickSuspectIsMeasuredAloneTheUsualWayBeforeItIsReported) {
    policy.quick = true;
    in_company["g2:g3"] = 300;
    quick["g0:g2"] = 300;
    alone["g0:g2"] = 301;
    run({"g0:g1", "g2:g3", "g0:g2", "g1:g3"}, {{0, 1}, {2}, {3}});
    EXPECT_EQ(sample_seconds.back(), policy.sample_seconds);
    EXPECT_EQ(session.results.size(), 4U) << "the quick figure is replaced, not kept beside";
    for (const char* cell : {"g2:g3", "g0:g2"}) {
        EXPECT_EQ(of(cell).visits.size(), 2U);
        EXPECT_TRUE(of(cell).remeasured);
    }
    EXPECT_EQ(of("g2:g3").total.median, 396) << "what it has alone counts";
    EXPECT_EQ(of("g0:g2").total.median, 301) << "it is slow";
    EXPECT_FALSE(of("g1:g3").remeasured);
}

TEST_F(RoundsInCompany, OneThatFailsInQuickCompanyTakesNobodyDown) {
    policy.quick = true;
    trouble["g2:g3"] = std::make_exception_ptr(Failure("wrong_data", "words are wrong"));
    trouble["g1:g3"] = std::make_exception_ptr(Prevented("unsupported", "no peer access"));
    spoilt = {"g0:g1"};
    run({"g0:g1", "g2:g3", "g0:g2", "g1:g3"}, {{0, 1}, {2, 3}});
    ASSERT_EQ(session.failed.size(), 1U);
    EXPECT_EQ(session.failed[0].cell, "g2:g3") << "wrong data stays evidence, whatever it does alone";
    ASSERT_EQ(session.skipped.size(), 1U);
    EXPECT_EQ(session.skipped[0].cell, "g1:g3");
    EXPECT_EQ(calls.back(), "g0:g1") << "its window was spoilt: it is measured alone";
    EXPECT_EQ(of("g0:g2").total.median, 395) << "its partner's trouble is not its own";
}

TEST_F(RoundsInCompany, AQuickSuspectThatCannotBeMeasuredAgainIsNotReported) {
    policy.quick = true;
    quick = {{"g0:g1", 300}, {"g2:g3", 300}};
    at_call = [&] {
        if (sample_seconds.back() < policy.sample_seconds) return;
        if (calls.back() == "g0:g1") throw Failure("lost", "gone");
        throw Prevented("busy", "taken");
    };
    run(three_pairs, {{0}, {1}, {2}});
    ASSERT_EQ(session.results.size(), 1U);
    EXPECT_EQ(session.results[0].cell.text(), "g4:g5");
    ASSERT_EQ(session.failed.size(), 1U);
    EXPECT_EQ(session.failed[0].cell, "g0:g1");
    ASSERT_EQ(session.skipped.size(), 1U);
    EXPECT_EQ(session.skipped[0].cell, "g2:g3");
}

TEST(Rounds, WhatIsNotVisitedIsNotAnnounced) {
    Session session;
    Policy policy = without_pauses();
    policy.budget = 0.01;  // less than a visit takes
    int steps = 0;
    measure_in_rounds(
        cells_of({"n0:g0"}), policy, now(), session, [&](const Step&) { ++steps; },
        [](const Cell& cell, double, int) { return seen(cell, 55); });
    EXPECT_EQ(steps, 0);
}

}  // namespace
}  // namespace nearfar
