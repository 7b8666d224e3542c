#include "engine/background.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "core/clock.h"
#include "core/error.h"
#include "tests/engine/refused_threads.h"

namespace nearfar {
namespace {

constexpr double long_patience = 10;
constexpr std::size_t chunk = 1000000;

void moment() { std::this_thread::sleep_for(std::chrono::milliseconds(1)); }

// Moves chunks, one a millisecond or so, until stopped or until `ends` of them are done.
BackgroundFlow fake_flow(const std::string& name, std::size_t ends = SIZE_MAX, bool throws = false) {
    const auto body = [=](FlowThread& thread) {
        for (std::size_t i = 0; i < ends && !thread.stopped(); ++i) {
            moment();
            thread.complete(now());
        }
        if (throws && !thread.stopped()) throw Failure("lost", "the GPU has fallen off the bus");
    };
    return {name, {body, chunk}};
}

// Says a time that is over: no need to be exact about what a busy machine does to threads.
std::vector<CellResult> measured(double seconds) {
    CellResult result;
    result.cell = parse_cell("n0:g0");
    result.visits.push_back({now(), 0, 1});
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    result.visits.back().end = now();
    return {result};
}

std::string reason_of(const std::function<void()>& action) {
    try {
        action();
    } catch (const Prevented& why) {
        EXPECT_EQ(why.code, "interrupted");
        return why.what();
    }
    return "";
}

TEST(Background, StartsMovesAndStops) {
    std::atomic<bool> ended{false};
    {
        const auto body = [&](FlowThread& thread) {
            while (!thread.stopped()) {
                moment();
                thread.complete(now());
            }
            ended = true;
        };
        Background background({{"n0:g0", {body, chunk}}}, long_patience);
        EXPECT_EQ(background.await_past(now()), "");
        EXPECT_FALSE(ended);
    }
    EXPECT_TRUE(ended) << "the destructor stops what still moves";
}

TEST(Background, ReportsTheRateWhileACellWasMeasuredAndNothingElse) {
    std::atomic<int> pace{1};
    // 1 MB of bookkeeping every ms is 1 GB/s by its own clock, whatever the machine's threads do.
    double clock = now();
    const auto body = [&](FlowThread& thread) {
        while (!thread.stopped()) {
            while (clock > now() && !thread.stopped()) moment();
            clock += 0.001 * pace;
            thread.complete(clock);
        }
    };
    Background background({{"n0:g1", {body, chunk}}}, long_patience);
    EXPECT_EQ(background.await_past(now()), "");
    const std::vector<CellResult> results = measure_beside(background, [] { return measured(0.06); });
    ASSERT_EQ(results[0].aggressors.size(), 1U);
    EXPECT_EQ(results[0].aggressors[0].flow, "n0:g1");
    EXPECT_NEAR(results[0].aggressors[0].rate.median, 1.0, 0.01);
    EXPECT_EQ(results[0].aggressors[0].rate.n(), 6U);
    EXPECT_EQ(results[0].total.n(), 0U) << "never part of the cell's own";
    pace = 2;
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    EXPECT_NEAR(measure_beside(background, [] { return measured(0.06); })[0].aggressors[0].rate.median, 0.5, 0.05);
}

TEST(Background, TasksOfOneFlowCountTogether) {
    Background background({fake_flow("n0:g0/x2"), fake_flow("n0:g1"), fake_flow("n0:g0/x2")}, long_patience);
    const auto results = measure_beside(background, [] { return measured(0.05); });
    ASSERT_EQ(results[0].aggressors.size(), 2U);
    EXPECT_EQ(results[0].aggressors[0].flow, "n0:g0/x2");
    EXPECT_GT(results[0].aggressors[0].rate.median, 0);
    EXPECT_EQ(results[0].aggressors[1].flow, "n0:g1");
}

TEST(Background, NothingIsReportedAsLoadedOnceOneHasDied) {
    Background background({fake_flow("n0:g0"), fake_flow("n0:g2", 20, true)}, long_patience);
    EXPECT_EQ(background.await_past(0), "");
    const std::string during = reason_of([&] { measure_beside(background, [] { return measured(0.2); }); });
    EXPECT_EQ(during, "the aggressor n0:g2 died: the GPU has fallen off the bus");
    bool asked = false;
    const std::string after = reason_of([&] {
        measure_beside(background, [&] {
            asked = true;
            return measured(0);
        });
    });
    EXPECT_EQ(after, during);
    EXPECT_FALSE(asked) << "a cell after the death is not even measured";
}

TEST(Background, OneThatEndsWithoutAWordHasDiedToo) {
    Background background({fake_flow("g0:g1", 3)}, long_patience);
    EXPECT_EQ(reason_of([&] { measure_beside(background, [] { return measured(0.1); }); }),
              "the aggressor g0:g1 died: it ended by itself");
}

TEST(Background, OneThatNeverStartsIsNamed) {
    const auto body = [](FlowThread&) { throw Prevented("busy", "g3 is used by another process"); };
    Background background({{"n0:g3", {body, chunk}}}, long_patience);
    EXPECT_EQ(background.await_past(now()), "the aggressor n0:g3 died: g3 is used by another process");
}

TEST(Background, OneWhoseThreadIsRefusedIsNamedWithTheLimit) {
    threads_left = 0;
    Background background({fake_flow("n0:g3")}, long_patience);
    threads_left = -1;
    const std::string why = background.await_past(now());
    EXPECT_EQ(why.rfind("the aggressor n0:g3 died: no thread could be started", 0), 0U) << why;
    EXPECT_NE(why.find("ulimit -u"), std::string::npos) << why;
}

TEST(Background, OneThatHangsIsNotWaitedForForEver) {
    const auto body = [](FlowThread& thread) {
        while (!thread.stopped()) moment();
    };
    Background background({{"n0:g0", {body, chunk}}}, 0.05);
    const std::string why = "the aggressor n0:g0 died: it moves nothing";
    EXPECT_EQ(background.await_past(now()), why);
    const double begin = now();
    for (int cell = 0; cell < 1000; ++cell) EXPECT_EQ(background.await_past(now()), why);
    EXPECT_LT(now() - begin, 10) << "not every cell waits for it again";
}

TEST(Background, TheCellsOwnTroubleIsToldFirst) {
    Background background({fake_flow("n0:g0", 50, true)}, long_patience);
    const auto fails = [&] {
        measure_beside(background, []() -> std::vector<CellResult> { throw Failure("wrong_data", "words are wrong"); });
    };
    EXPECT_THROW(fails(), Failure);
}

TEST(Background, NoneChangesNothing) {
    Background background({}, long_patience);
    EXPECT_TRUE(measure_beside(background, [] { return measured(0); })[0].aggressors.empty());
}

}  // namespace
}  // namespace nearfar
