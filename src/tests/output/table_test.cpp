#include "output/table.h"

#include <gtest/gtest.h>

#include "cell/visited.h"

namespace nearfar {
namespace {

CellResult visited(const char* cell, double rate, std::size_t visits) {
    std::vector<CellResult> known;
    for (std::size_t i = 0; i < visits; ++i) {
        CellResult result;
        result.cell = parse_cell(cell);
        result.converged = true;
        result.visits = {{static_cast<double>(i), static_cast<double>(i) + 0.06, 6}};
        result.total = summarise({0.9 * rate, 0.9 * rate, 0.9 * rate, rate, rate, rate});
        for (const Flow& flow : result.cell.flows) {
            FlowResult of_flow;
            of_flow.flow = flow;
            of_flow.rate = result.total;
            of_flow.ceiling = 100.0;
            result.flows.push_back(of_flow);
        }
        add_visit(known, {result});
    }
    return known.front();
}

TEST(Table, APlateauStandsBeforeItsMedianAndIsWhatTheCeilingIsHeldAgainst) {
    EXPECT_EQ(table_heading(), "cell                              GB/s    median  steady  rounds  ceiling\n");
    EXPECT_EQ(table_rows(visited("n0:g0", 80, 3)),
              "n0:g0                            80.00     76.00   95.0%       3    100.0  80%\n");
}

TEST(Table, OneVisitHasAMedianAndNoSteadiness) {
    EXPECT_EQ(table_rows(visited("n0:g0", 80, 1)),
              "n0:g0                            76.00     76.00       -       1    100.0  76%\n");
}

TEST(Table, FlowsThatCompeteHaveAPlateauInTheirSumAndMediansEach) {
    CellResult both = visited("n0:g0+g0:n0", 80, 3);
    both.converged = false;
    both.aggressors = {{"n0:g1", summarise({50})}};
    EXPECT_EQ(table_rows(both),
              "n0:g0+g0:n0                      80.00     76.00   95.0%       3        -    -  not converged\n"
              "  n0:g0                          76.00     76.00       -       3    100.0  76%  not converged\n"
              "  g0:n0                          76.00     76.00       -       3    100.0  76%  not converged\n"
              "  aggressor n0:g1                50.00     50.00       -       -        -    -\n");
}

TEST(Table, NoLineOfAUsualCellIsLongerThanAHundred) {
    CellResult both = visited("n0:g0+g0:n0", 12345, 8);
    both.converged = false;
    for (FlowResult& flow : both.flows) flow.ceiling = 12345;
    const std::string rows = table_heading() + table_rows(both);
    for (std::size_t begin = 0, end = 0; begin < rows.size(); begin = end + 1) {
        end = rows.find('\n', begin);
        EXPECT_LT(end - begin, 100) << rows.substr(begin, end - begin);
    }
}

}  // namespace
}  // namespace nearfar
