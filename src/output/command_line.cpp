#include "output/command_line.h"

#include <cstdlib>
#include <fstream>
#include <iostream>

#include "cell/sizes.h"
#include "core/error.h"
#include "core/option_values.h"

namespace nearfar {

const char* const common_options_help =
    "  --cells FILE|-   read cells from a file or standard input, one a line (as --list prints them)\n"
    "  --all            without cells, on more than eight NUMA nodes: every cell, not one for each package and distance\n"
    "  --list           print the cells and measure nothing\n"
    "  --json[=FILE]    print the measurement document (or write it to FILE) in place of the table\n"
    "  --absent-fails   a cell that names what this node lacks fails, and the rest is measured (else: wrong use)\n"
    "  --budget SECONDS spread so much time over all cells\n"
    "  --timeout SECONDS a cell that takes longer hangs: what was measured is printed, exit 1 (default 30)\n"
    "  --version, --help\n";

namespace {

double seconds(const std::string& option, const std::string& text) { return positive_value(option, text, "a number of seconds"); }

void read_cells(std::istream& lines, const std::string& name, std::vector<Cell>& cells) {
    std::string line;
    for (int number = 1; std::getline(lines, line); ++number) {
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
        std::ifstream file(name);
        if (!file) throw WrongUse("--cells " + name + ": the file cannot be read");
        read_cells(file, name, cells);
    }
    if (cells.size() == before) throw WrongUse("--cells " + name + ": there is no cell in it");
}

Cell read_aggressor(const std::string& text) {
    try {
        return parse_cell(text);
    } catch (const CellError& error) {
        throw WrongUse(std::string("--aggressor: ") + error.what());
    }
}

}  // namespace

CommandLine parse_command_line(int argc, char** argv) {
    CommandLine line;
    for (int i = 0; i < argc; ++i) line.words.emplace_back(argv[i]);
    for (std::size_t i = 1; i < line.words.size(); ++i) {
        const std::string& word = line.words[i];
        const std::string name = word.substr(0, word.find('='));
        // `--name VALUE` or `--name=VALUE`
        const auto value = [&]() -> std::string {
            if (name.size() < word.size()) return word.substr(name.size() + 1);
            if (i + 1 >= line.words.size()) throw WrongUse(name + " needs a value");
            return line.words[++i];
        };
        if (word.empty() || word[0] != '-') {
            line.cells.push_back(parse_cell(word));
        } else if (name == "--cells") {
            read_cell_file(value(), line.cells);
        } else if (word == "--all") {
            line.policy.all = true;
        } else if (word == "--list") {
            line.list = true;
        } else if (name == "--json") {
            line.json = true;
            if (name.size() < word.size()) line.json_file = value();
        } else if (name == "--budget") {
            line.policy.budget = seconds(name, value());
        } else if (name == "--timeout") {
            line.policy.hang_seconds = seconds(name, value());
        } else if (name == "--sizes") {
            line.policy.sizes = parse_sizes(value());
        } else if (word == "--latency") {
            line.policy.latency = true;
        } else if (word == "--quick") {
            line.policy.quick = true;
        } else if (name == "--aggressor") {
            line.policy.aggressors.push_back(read_aggressor(value()));
        } else if (name == "--gpus") {
            line.gpus = split_list(value());
        } else if (name == "--as-task") {
            for (const std::string& gpu : split_list(value())) line.as_task.push_back(std::atoi(gpu.c_str()));
        } else if (word == "--absent-fails") {
            line.absent_fails = true;
        } else if (word == "--even-if-busy") {
            line.policy.even_if_busy = true;
        } else if (word == "--help" || word == "-h") {
            line.help = true;
        } else if (word == "--version") {
            line.version = true;
        } else {
            throw WrongUse("unknown option '" + word + "'; see --help");
        }
    }
    if (line.policy.quick && (line.policy.latency || !line.policy.sizes.empty()))
        throw WrongUse("--quick is for rates at the usual size: not beside --sizes or --latency");
    return line;
}

}  // namespace nearfar
