#include "output/document.h"

#include <gtest/gtest.h>

#include "supervisor/account.h"
#include "supervisor/teller.h"

namespace nearfar {
namespace {

std::string shown(const ProgramRun& run, const CellResult& result) {
    Account account(run, true);
    Teller teller([&](const Message& message) { account.take(parse_message(message.line())); }, true);
    Session session;
    session.results = {result};
    teller.node(run, Node{}, {});
    teller.news(session);
    teller.end();
    return account.text(0);
}

CellResult pair() {
    CellResult result;
    result.cell = parse_cell("g0:g1");
    result.total = summarise({396});
    return result;
}

TEST(Document, WhatWasQuickOrLoadedSaysSo) {
    CellResult result = pair();
    result.beside = {"g2:g3"};
    result.remeasured = true;
    result.aggressors = {{"n0:g0", summarise({50})}};
    const std::string text = shown({"nearfar-copy", {}, "", "", "", true, {"n0:g0"}}, result);
    for (const char* const part :
         {R"("quick": true)", R"("aggressor": ["n0:g0"])", R"("beside": ["g2:g3"])", R"("remeasured": true)",
          R"("aggressors": [{"flow": "n0:g0", "rate": {"unit": "GB/s", "median": 50)"})
        EXPECT_NE(text.find(part), std::string::npos) << part << " is missing in " << text;
}

TEST(Document, TheUsualRunSaysNothingOfEither) {
    const std::string text = shown({"nearfar-copy", {}, "", "", "", false, {}}, pair());
    for (const char* const part : {"quick", "aggressor", "beside", "remeasured"})
        EXPECT_EQ(text.find(part), std::string::npos) << part << " in " << text;
}

}  // namespace
}  // namespace nearfar
