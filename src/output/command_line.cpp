#include "output/command_line.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <utility>

#include "core/error.h"

namespace nearfar {

namespace {

void read_cells(std::istream& lines, const std::string& name, std::vector<Cell>& cells) {
    std::string line;
    for (int number = 1; std::getline(lines, line); ++number) {
        if (std::any_of(line.begin(), line.end(), [](unsigned char c) { return std::iscntrl(c) != 0 && std::isspace(c) == 0; }))
            throw WrongUse(name + ":" + std::to_string(number) + ": it is no text");
        line = line.substr(0, line.find('#'));
        const std::size_t first = line.find_first_not_of(" \t\r");
        if (first == std::string::npos) continue;
        const std::size_t last = line.find_last_not_of(" \t\r");
        try {
            cells.push_back(parse_cell(line.substr(first, last - first + 1)));
        } catch (const CellError& error) {
            throw WrongUse(name + ":" + std::to_string(number) + ": " + error.what());
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

}  // namespace

Options with_cell_options(Options own, CommandLine& line) {
    const Options shared{{"--cells", "FILE|-", "read cells from a file or standard input, one a line (as --list prints them)",
                          [&line](const std::string& name) { read_cell_file(name, line.cells); }, true},
                         switch_option("--list", "print the cells and measure nothing", line.list),
                         switch_option("--absent-fails",
                                       "a cell that names what this node lacks fails, and the rest is measured (else: wrong use)",
                                       line.absent_fails),
                         seconds_option("--budget", "spread so much time over all cells", line.policy.budget)};
    own.insert(own.end(), shared.begin(), shared.end());
    return with_common(std::move(own), line, line.policy.hang_seconds);
}

CommandLine parse_command_line(int argc, char** argv, Options (*table)(CommandLine&)) {
    CommandLine line;
    line.words.assign(argv, argv + argc);
    read_options(line.words, table(line), [&](const std::string& word) { line.cells.push_back(parse_cell(word)); });
    return line;
}

}  // namespace nearfar
