#include "supervisor/account.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "supervisor/teller.h"

namespace nearfar {
namespace {

CellResult result(const std::string& cell) {
    CellResult found;
    found.cell = parse_cell(cell);
    found.total = summarise({50});
    return found;
}

// A run that tells an account, as one process tells another.
struct Told {
    Account account{{"nearfar-copy", {}, "", "", "", false, {}}, true};
    Teller teller{[this](const Message& message) { account.take(parse_message(message.line())); }, true};
    Session session;

    explicit Told(const std::vector<std::string>& texts) {
        std::vector<Cell> cells;
        for (const std::string& text : texts) cells.push_back(parse_cell(text));
        teller.node({}, Node{}, {});
        teller.cells(cells);
    }
    void under_way(const std::string& cell) {
        teller.news(session);
        teller.under_way(0, 3, 30, cell, {cell});
    }
};

TEST(Account, WhatWasUnderWayIsGivenUpAndTheRestIsLeft) {
    Told told({"n0:g0", "n0:g1", "n0:g2"});
    told.under_way("n0:g0");
    told.session.results.push_back(result("n0:g0"));
    told.under_way("n0:g1");
    told.account.give_up("error", "n0:g1: the measuring process was killed (SIGKILL)", true);
    EXPECT_EQ(told.account.unanswered(), std::vector<std::string>{"n0:g2"});
    EXPECT_TRUE(told.account.has_news());
    EXPECT_EQ(told.account.exit_code(), 1);
    const std::string text = told.account.text(1.5);
    EXPECT_NE(text.find(R"("results": [{"quantity": "copy", "cell": "n0:g0")"), std::string::npos) << text;
    EXPECT_NE(text.find(R"("failed": [{"cell": "n0:g1", "code": "error", "reason": "n0:g1: the)"), std::string::npos) << text;

    told.account.begin_again({});
    EXPECT_FALSE(told.account.has_news());
    told.account.give_up("hang", "set-up did not end within 60 s", true);
    told.account.skip_rest("interrupted", "set-up hung");
    EXPECT_TRUE(told.account.unanswered().empty());
    EXPECT_NE(told.account.text(2).find(R"("skipped": [{"cell": "n0:g2", "code": "interrupted")"), std::string::npos);
}

TEST(Account, VisitsThatWereMadeStandWhereTheNextProcessCannotGoOn) {
    Told told({"n0:g0", "n0:g1", "n0:g2"});
    CellResult visited = result("n0:g0");
    visited.visits = {{0, 0, 1}};
    visited.converged = true;
    told.session.so_far["n0:g0"] = {visited};
    told.under_way("n0:g1");
    told.account.give_up("error", "killed", true);
    told.account.begin_again({});
    told.account.take({told::skipped, {"n0:g0", "budget", "the budget was used up before it was measured"}});
    told.account.skip_rest("interrupted", "ended by a signal");
    const std::string text = told.account.text(2);
    EXPECT_NE(text.find(R"("results": [{"quantity": "copy", "cell": "n0:g0")"), std::string::npos) << text;
    EXPECT_NE(text.find(R"("converged": false)"), std::string::npos) << "more visits were due: " << text;
    EXPECT_NE(text.find(R"("skipped": [{"cell": "n0:g2")"), std::string::npos) << text;
    EXPECT_NE(text.find(R"("interrupted": true)"), std::string::npos) << text;
}

TEST(Account, AnInterruptedCellKeepsItsVisitsAndTheRunIsNotGreen) {
    Told told({"n0:g0"});
    CellResult visited = result("n0:g0");
    visited.visits = {{0, 0, 1}};
    told.session.so_far["n0:g0"] = {visited};
    told.under_way("n0:g0");
    told.account.give_up("interrupted", "whoever started it is gone", false);
    EXPECT_EQ(told.account.exit_code(), 3);
    EXPECT_NE(told.account.text(2).find(R"("skipped": [])"), std::string::npos) << told.account.text(2);
}

TEST(Account, SeveralResultsOfACellAnswerItAlone) {
    Told told({"n0:g0", "n0:g1"});
    told.under_way("n0:g0");
    told.session.results.push_back(result("n0:g0"));
    told.session.results.push_back(result("n0:g0"));  // at another size
    told.under_way("n0:g1");
    EXPECT_EQ(told.account.unanswered(), std::vector<std::string>{"n0:g1"});
    told.teller.end();
    EXPECT_TRUE(told.account.unanswered().empty());
    EXPECT_TRUE(told.account.has_ended());
}

TEST(Account, WhatAnEarlierProcessToldIsNotToldTwice) {
    Told told({"n0:g0", "n0:g1"});
    told.under_way("n0:g0");
    told.session.results.push_back(result("n0:g0"));
    told.teller.news(told.session);
    told.teller.again("CUDA came to its end in this process");
    EXPECT_EQ(told.account.unanswered(), std::vector<std::string>{"n0:g1"});
    told.account.begin_again({});
    EXPECT_TRUE(told.account.again().empty());
    told.teller.cells({parse_cell("n0:g1")});
    EXPECT_EQ(told.account.unanswered(), std::vector<std::string>{"n0:g1"}) << "the new process's cells are those that are left";
}

TEST(Account, WhatIsToldOnlyAtTheEndIsAnsweredToo) {
    Told told({"n0:g0", "n0:g1", "n0:g2"});
    for (const char* const cell : {"n0:g0", "n0:g1", "n0:g2"}) told.teller.under_way(0, 3, 30, cell, {cell});
    for (const char* const cell : {"n0:g0", "n0:g2"}) told.session.results.push_back(result(cell));
    told.teller.news(told.session);
    told.teller.again("CUDA came to its end in this process");
    EXPECT_EQ(told.account.unanswered(), std::vector<std::string>{"n0:g1"});
}

TEST(Account, OfSeveralCellsAtOnceNoneIsBlamed) {
    Told told({"g0:g1", "g2:g3", "n0:g0"});
    told.teller.under_way(0, 3, 30, "g0:g1+g2:g3", {"g0:g1", "g2:g3"});
    told.account.give_up("hang", "g0:g1+g2:g3 did not end within 30 s", true);
    EXPECT_EQ(told.account.unanswered().size(), 3U) << "each is measured alone";
    EXPECT_TRUE(told.account.has_news());
    EXPECT_EQ(told.account.exit_code(), 0);
}

TEST(Account, WhatADeadProcessKnewBesideItsCellsStaysUntilAnotherKnowsBetter) {
    Told told({"n0:g0", "n0:g1"});
    told.session.curves = {{"n0:g0", 4096}};
    told.session.gpus_under_load = {GpuUnderLoad{}, GpuUnderLoad{}};
    told.session.gpus_under_load[1].gpu = 1;
    told.under_way("n0:g1");
    told.account.give_up("error", "n0:g1: the measuring process was killed (SIGKILL)", true);
    told.account.begin_again({});
    Session next;
    next.gpus_under_load = {GpuUnderLoad{}};
    next.gpus_under_load[0].gpu = 1;
    next.gpus_under_load[0].replays = 7;
    told.teller.news(next);
    const std::string text = told.account.text(0);
    EXPECT_NE(text.find(R"("curves": [{"cell": "n0:g0", "half_bandwidth_bytes": 4096}])"), std::string::npos) << text;
    EXPECT_NE(text.find(R"("gpus_under_load": [{"index": 0, )"), std::string::npos) << text;
    EXPECT_NE(text.find(R"("replays": 7)"), std::string::npos) << text;
    EXPECT_EQ(text.find(R"("index": 1)"), text.rfind(R"("index": 1)")) << text;
}

TEST(Account, AllResultsAreReplacedAtOnce) {
    Told told({});
    told.teller.results({R"({"cell": "a"})", R"({"cell": "b"})"});
    told.teller.results({R"({"cell": "c"})"});
    EXPECT_NE(told.account.text(0).find(R"("results": [{"cell": "c"}])"), std::string::npos) << told.account.text(0);
}

TEST(Account, WhatIsNoMessageIsSaid) {
    Told told({});
    EXPECT_THROW(told.account.take({"nonsense", {}}), std::invalid_argument);
    EXPECT_THROW(told.account.take({told::result, {"n0:g0"}}), std::invalid_argument);
}

TEST(ExitCode, FailuresComeBeforeSkips) {
    Told told({});
    EXPECT_EQ(told.account.exit_code(), 0);
    told.teller.skipped({"n0:g0", "representative", ""});
    EXPECT_EQ(told.account.exit_code(), 0) << "a skip that was planned is no trouble";
    told.teller.skipped({"n0:g0", "busy", ""});
    EXPECT_EQ(told.account.exit_code(), 3);
    told.teller.failed({"n0:g0", "wrong_data", ""});
    EXPECT_EQ(told.account.exit_code(), 1);
}

}  // namespace
}  // namespace nearfar
