#include "output/command_line.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <set>
#include <utility>

#include "core/error.h"

namespace nearfar {
namespace {

constexpr int most_visits = 1000;

// The next line up to its comment; false at the end. Looks at each letter as it comes: a device may have no end.
bool next_line(std::istream& text, const std::string& place, std::string& line) {
    line.clear();
    int letter = 0;
    while ((letter = text.get()) != EOF && letter != '\n') {
        if (std::iscntrl(letter) != 0 && letter != '\t' && letter != '\r') throw WrongUse(place + ": it is no text");
        line += static_cast<char>(letter);
    }
    const bool some = letter != EOF || !line.empty();
    line = line.substr(0, line.find('#'));
    return some;
}

void read_cells(std::istream& lines, const std::string& name, std::vector<Cell>& cells) {
    std::string line;
    for (int number = 1;; ++number) {
        const std::string place = name + ":" + std::to_string(number);
        if (!next_line(lines, place, line)) return;
        const std::size_t first = line.find_first_not_of(" \t\r");
        if (first == std::string::npos) continue;
        const std::size_t last = line.find_last_not_of(" \t\r");
        try {
            cells.push_back(parse_cell(line.substr(first, last - first + 1)));
        } catch (const CellError& error) {
            throw WrongUse(place + ": " + error.what());
        }
    }
}

void read_cell_file(const std::string& name, std::vector<Cell>& cells) {
    const std::size_t before = cells.size();
    if (name == "-") {
        read_cells(std::cin, "standard input", cells);
    } else {
        if (std::filesystem::is_directory(name)) throw WrongUse("--cells " + name + ": it is a folder");
        std::ifstream file(name);
        if (!file) throw WrongUse("--cells " + name + ": the file cannot be read");
        read_cells(file, name, cells);
    }
    if (cells.size() == before) throw WrongUse("--cells " + name + ": there is no cell in it");
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
        {"--cells", "FILE|-", "read cells from a file or standard input, one a line (as --list prints them)",
         [&line](const std::string& name) { read_cell_file(name, line.cells); }, true},
        switch_option("--all", "without cells, on more than eight NUMA nodes: every cell, not one for each package and distance",
                      line.policy.all),
        switch_option("--list", "print the cells and measure nothing", line.list),
        switch_option("--absent-fails",
                      "a cell that names what this node lacks fails, and the rest is measured (else: wrong use)",
                      line.absent_fails),
        count_option("--visits", "to each cell, whatever its figures do (default: until the best was reached again, at most 8)",
                     line.policy.visits, most_visits),
        seconds_option("--budget", "spread so much time over all cells", line.policy.budget)};
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
