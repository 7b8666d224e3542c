#include "output/command_line.h"

#include <algorithm>
#include <set>
#include <utility>

#include "core/error.h"
#include "output/cell_file.h"

namespace nearfar {
namespace {

constexpr int most_visits = 1000;

void read_cell_file(const std::string& name, std::vector<Cell>& cells) {
    for (const FileLine& line : cell_lines(name)) {
        try {
            cells.push_back(parse_cell(line.text));
        } catch (const CellError& error) {
            throw WrongUse(line.place + ": " + error.what());
        }
    }
}

// A cell is the set of its flows, in any order.
void leave_out_repeated(std::vector<Cell>& cells) {
    std::set<std::set<std::string>> known;
    const auto is_known = [&](const Cell& cell) {
        std::set<std::string> flows;
        for (const Flow& flow : cell.flows) flows.insert(flow.text());
        return !known.insert(flows).second;
    };
    cells.erase(std::remove_if(cells.begin(), cells.end(), is_known), cells.end());
}

}  // namespace

Options with_cell_options(Options own, CommandLine& line) {
    const Options shared{
        cells_option([&line](const std::string& name) { read_cell_file(name, line.cells); }),
        switch_option("--all",
                      "without cells, on more than eight NUMA nodes: measure every cell, not one for each package and distance",
                      line.policy.all),
        switch_option("--list", "print the cells and measure nothing", line.list),
        switch_option("--absent-fails",
                      "a cell that names what this node lacks fails, and the rest is measured (else: wrong use)",
                      line.absent_fails),
        count_option("--visits", "measure each cell N times (default: until its best rate was reached again, at most 8 times)",
                     line.policy.visits, most_visits),
        seconds_option("--budget", "divide this time among all cells", line.policy.budget)};
    own.insert(own.end(), shared.begin(), shared.end());
    return with_common(std::move(own), line, line.policy.hang_seconds);
}

CommandLine parse_command_line(int argc, char** argv, Options (*table)(CommandLine&)) {
    CommandLine line;
    line.words.assign(argv, argv + argc);
    read_options(line.words, table(line), [&](const std::string& word) { line.cells.push_back(parse_cell(word)); });
    leave_out_repeated(line.cells);
    return line;
}

}  // namespace nearfar
