#include "tasks/task_pool.h"

#include <gtest/gtest.h>

#include "core/clock.h"
#include "core/error.h"

namespace nearfar {
namespace {

constexpr double patience = 2;
constexpr std::size_t mega = 1000000;

// A fake task moves a chunk of 1 MB about every millisecond; `fault` is what goes wrong with it.
BackgroundFlow fake(const std::string& flow, const std::string& fault = "") {
    const auto command = [fault](const GpuSet&) { return TaskCommand{"", NEARFAR_FAKE_TASK, {"fake_task", fault}, {}}; };
    return background_process({parse_cell(flow).flows[0], 4 * mega, mega}, command, patience);
}

// Cells of 20 ms one after the other, until one is not measured: its reason.
std::string end_of(Background& background) {
    try {
        for (const double end = now() + 10; now() < end;) {
            const auto results = measure_beside(background, [] {
                CellResult result;
                result.visits.push_back({now(), 0, 1});
                std::this_thread::sleep_for(std::chrono::milliseconds(20));
                result.visits.back().end = now();
                return std::vector<CellResult>{result};
            });
            EXPECT_GT(results[0].aggressors.at(0).rate.median, 0) << "reported as loaded, though nothing moved";
        }
    } catch (const Prevented& why) {
        EXPECT_EQ(why.code, "interrupted");
        return why.what();
    }
    return "";
}

TEST(BackgroundProcess, MovesBesideCellsAndEnds) {
    Background background({fake("n0:g0/x2"), fake("n0:g0/x2"), fake("g0:g1")}, patience);
    EXPECT_EQ(background.await_past(now()), "");
    const double begin = now();
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    const double end = now();
    EXPECT_EQ(background.await_past(end), "");
    const std::vector<AggressorRate> rates = background.rates(begin, end);
    ASSERT_EQ(rates.size(), 2U);
    EXPECT_EQ(rates[0].flow, "n0:g0/x2");
    EXPECT_GT(rates[0].rate.median, 1.2 * rates[1].rate.median) << "two tasks of one flow count together";
}

TEST(BackgroundProcess, OneThatDiesIsNamedWithItsReason) {
    Background killed({fake("n0:g1", "kill-moving")}, patience);
    EXPECT_EQ(end_of(killed), "the aggressor n0:g1 died: a task on g1 ended while it was measured (killed: Killed)");
    Background lost({fake("g0:g1", "lost")}, patience);
    EXPECT_EQ(end_of(lost), "the aggressor g0:g1 died: a task on g0 and g1: waiting for a chunk: unspecified launch failure");
}

TEST(BackgroundProcess, OneThatCannotStartIsNamedWithItsReason) {
    Background refused({fake("n0:g0", "refuse")}, patience);
    EXPECT_NE(end_of(refused).find("all devices are busy"), std::string::npos);
    const auto forbidden = [](const GpuSet&) -> TaskCommand { throw Prevented("mig", "g0 is in MIG mode"); };
    Background never({background_process({parse_cell("n0:g0").flows[0], mega, mega}, forbidden, patience)}, patience);
    EXPECT_EQ(end_of(never), "the aggressor n0:g0 died: g0 is in MIG mode");
}

TEST(BackgroundProcess, OneThatHangsIsNotReportedAsALoad) {
    Background hangs({fake("n0:g0", "hang-moving")}, 0.3);
    EXPECT_EQ(end_of(hangs), "the aggressor n0:g0 died: it moves nothing");
}

}  // namespace
}  // namespace nearfar
