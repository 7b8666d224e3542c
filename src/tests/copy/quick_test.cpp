#include "copy/quick.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "cell/disjoint.h"
#include "copy/suspects.h"
#include "core/error.h"
#include "core/statistics.h"

namespace nearfar {
namespace {

// A bench whose rates are given; it remembers how it was asked.
class FakeBench {
public:
    std::map<std::string, double> together;  // GB/s in company; others 396
    std::map<std::string, double> alone;     // GB/s alone; others 396
    std::map<std::string, std::exception_ptr> trouble;
    std::vector<std::string> spoilt;  // neither result nor trouble in company
    std::vector<std::string> calls;
    std::vector<double> sample_seconds;
    Session session;

    void run(const std::vector<std::string>& texts) {
        std::vector<Cell> cells;
        for (const std::string& text : texts) cells.push_back(parse_cell(text));
        QuickBench bench;
        bench.alone = [this](const Cell& cell, const Policy& policy, double, int) {
            calls.push_back(cell.text());
            sample_seconds.push_back(policy.sample_seconds);
            return std::vector<CellResult>{result(cell, alone)};
        };
        bench.together = [this](const std::vector<Cell>& set, const Policy&, double) {
            std::vector<SetOutcome> outcomes(set.size());
            std::string text;
            for (std::size_t i = 0; i < set.size(); ++i) {
                text += " " + set[i].text();
                outcomes[i].trouble = trouble[set[i].text()];
                const bool none = std::count(spoilt.begin(), spoilt.end(), set[i].text()) > 0;
                if (!outcomes[i].trouble && !none) outcomes[i].result = result(set[i], together);
            }
            calls.push_back("together" + text);
            return outcomes;
        };
        bench.kind = [](const Cell& cell) { return kind_of(cell, Node{}, [](const Flow&) { return 18; }); };
        measure_quickly(
            cells, disjoint_sets(cells, [](const Flow&) { return true; }), Policy{}, 0, session, [](const Step&) {}, bench);
    }

    const CellResult& of(const std::string& cell) const {
        for (const CellResult& result : session.results)
            if (result.cell.text() == cell) return result;
        throw std::out_of_range(cell);
    }

private:
    static CellResult result(const Cell& cell, const std::map<std::string, double>& rates) {
        const auto known = rates.find(cell.text());
        CellResult result;
        result.cell = cell;
        result.total = summarise({known == rates.end() ? 396 : known->second});
        result.flows = {FlowResult{}};
        result.visits = {{0, 0, 1}};
        result.flows[0].rate = result.total;
        return result;
    }
};

const std::vector<std::string> pairs{"g0:g1", "g2:g3", "g0:g2", "g1:g3", "g0:g3", "g1:g2"};

TEST(Quick, DisjointPairsAreMeasuredTogetherAndKeepTheirOwnResults) {
    FakeBench bench;
    bench.run(pairs);
    EXPECT_EQ(bench.calls, (std::vector<std::string>{"together g0:g1 g2:g3", "together g0:g2 g1:g3", "together g0:g3 g1:g2"}));
    EXPECT_EQ(bench.session.results.size(), 6U);
    for (const CellResult& result : bench.session.results) EXPECT_FALSE(result.remeasured) << result.cell.text();
}

TEST(Quick, LoneCellsTakeTheFewestSamples) {
    FakeBench bench;
    bench.run({"g0:g1", "g0:g2"});
    EXPECT_EQ(bench.calls, (std::vector<std::string>{"g0:g1", "g0:g2"}));
    EXPECT_EQ(bench.sample_seconds, (std::vector<double>(2, quick_policy(Policy{}).sample_seconds)));
    EXPECT_LT(quick_policy(Policy{}).sample_seconds, Policy{}.sample_seconds);
}

TEST(Quick, ASuspectIsMeasuredAloneTheUsualWayBeforeItIsReported) {
    FakeBench bench;
    bench.together["g1:g3"] = 300;
    bench.run(pairs);
    EXPECT_EQ(bench.calls.back(), "g1:g3");
    EXPECT_EQ(bench.sample_seconds.back(), Policy{}.sample_seconds);
    EXPECT_GE(bench.of("g1:g3").visits.size(), 2U);
    EXPECT_EQ(bench.session.results.size(), 6U) << "the quick figure is replaced, not kept beside";
    EXPECT_TRUE(bench.of("g1:g3").remeasured);
    EXPECT_EQ(bench.of("g1:g3").total.median, 396) << "what it has alone counts";
    EXPECT_FALSE(bench.of("g0:g2").remeasured);
}

TEST(Quick, ASlowPairStaysSlow) {
    FakeBench bench;
    bench.together["g1:g3"] = 300;
    bench.alone["g1:g3"] = 301;
    bench.run(pairs);
    EXPECT_EQ(bench.of("g1:g3").total.median, 301);
}

TEST(Quick, OneThatFailsInCompanyTakesNobodyDown) {
    FakeBench bench;
    bench.trouble["g2:g3"] = std::make_exception_ptr(Failure("wrong_data", "words are wrong"));
    bench.spoilt = {"g0:g1"};
    bench.trouble["g1:g3"] = std::make_exception_ptr(Prevented("unsupported", "no peer access"));
    bench.run(pairs);
    ASSERT_EQ(bench.session.failed.size(), 1U);
    EXPECT_EQ(bench.session.failed[0].cell, "g2:g3") << "wrong data stays evidence, whatever it does alone";
    ASSERT_EQ(bench.session.skipped.size(), 1U);
    EXPECT_EQ(bench.session.skipped[0].cell, "g1:g3");
    EXPECT_EQ(bench.session.results.size(), 4U);
    EXPECT_EQ(bench.calls[1], "g0:g1") << "its window was spoilt: it is measured alone";
    EXPECT_NO_THROW(bench.of("g0:g2")) << "its partner's trouble is not its own";
}

TEST(Quick, ASuspectThatCannotBeMeasuredAgainIsNotReported) {
    std::vector<Cell> cells;
    std::vector<std::vector<std::size_t>> sets;
    for (std::size_t i = 0; i < pairs.size(); ++i) {
        cells.push_back(parse_cell(pairs[i]));
        sets.push_back({i});
    }
    Session session;
    QuickBench lost;
    lost.kind = [](const Cell&) { return "write"; };
    lost.alone = [](const Cell& cell, const Policy& policy, double, int) {
        if (policy.sample_seconds == Policy{}.sample_seconds) throw Failure("lost", "gone");
        CellResult result;
        result.cell = cell;
        result.total = summarise({cell.text() == "g1:g3" ? 300.0 : 396.0});
        return std::vector<CellResult>{result};
    };
    measure_quickly(
        cells, sets, Policy{}, 0, session, [](const Step&) {}, lost);
    EXPECT_EQ(session.results.size(), 5U);
    ASSERT_EQ(session.failed.size(), 1U);
    EXPECT_EQ(session.failed[0].cell, "g1:g3");
}

}  // namespace
}  // namespace nearfar
