#include "output/command_line.h"

#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <utility>

#include "cell/sizes.h"
#include "core/error.h"
#include "output/cell_file.h"

namespace nearfar {
namespace {

constexpr int most_visits = 1000;
constexpr int most_tail = 100000;

// `n0:g0`, and behind it `latency`, `tail[=N]`, `sizes=A..B`, `rounds=N`.
Cell read_cell_line(const FileLine& line, Policy& policy) {
    std::istringstream words(line.text);
    std::string word;
    words >> word;
    Cell cell = parse_cell(word);
    while (words >> word) {
        const std::size_t equals = std::min(word.find('='), word.size());
        const std::string name = word.substr(0, equals);
        const std::string value = equals < word.size() ? word.substr(equals + 1) : "";
        if (name == "rounds") {
            cell.visits = whole_value(line.place + ": rounds", value, 1, most_visits);
            continue;
        }
        cell.aspect = parse_key(cell.text() + " " + name).aspect;
        read_aspect(cell.aspect, value, line.place, policy);
    }
    return cell;
}

void read_cell_file(const std::string& name, CommandLine& into) {
    for (const FileLine& line : cell_lines(name)) {
        try {
            into.cells.push_back(read_cell_line(line, into.policy));
        } catch (const CellError& error) {
            throw WrongUse(line.place + ": " + error.what());
        }
    }
}

// A cell is the set of its flows, in any order.
std::set<std::string> identity(const Cell& cell) {
    std::set<std::string> flows{aspect_word(cell.aspect)};
    for (const Flow& flow : cell.flows) flows.insert(flow.text());
    return flows;
}

void leave_out_repeated(std::vector<Cell>& cells) {
    std::map<std::set<std::string>, Cell> known;
    const auto is_repeated = [&](const Cell& cell) {
        const auto [first, is_new] = known.emplace(identity(cell), cell);
        int& visits = first->second.visits;
        visits = visits == 0 || cell.visits == 0 ? 0 : std::max(visits, cell.visits);
        return !is_new;
    };
    cells.erase(std::remove_if(cells.begin(), cells.end(), is_repeated), cells.end());
    for (Cell& cell : cells) cell.visits = known.at(identity(cell)).visits;
}

}  // namespace

void read_aspect(Aspect aspect, const std::string& value, const std::string& name, Policy& policy) {
    if (aspect == Aspect::sizes) {
        const std::vector<std::size_t> sizes = parse_sizes(value, name);
        if (!policy.sizes.empty() && policy.sizes != sizes) throw WrongUse(name + ": all cells of a run have the same sizes");
        policy.sizes = sizes;
    } else if (aspect == Aspect::tail) {
        if (!value.empty()) policy.tail = whole_value(name, value, 1, most_tail);
    } else if (!value.empty()) {
        throw WrongUse(name + ": '=" + value + "' is a value that only tail and sizes take");
    }
}

Options with_cell_options(Options own, CommandLine& line) {
    std::vector<std::string> names;
    std::string help = "without cells: those that a check measures on this node:";
    for (const auto& [name, cells] : check_sets()) {
        help += (names.empty() ? " " : ", ") + name;
        names.push_back(name);
    }
    const Options shared{
        cells_option([&line](const std::string& name) { read_cell_file(name, line); }),
        switch_option(
            "--all",
            "without cells: measure every cell, also on more than eight NUMA nodes (default there: one per package and distance)",
            line.policy.all),
        {"--set", "CHECK", help,
         [&line, names](const std::string& name) {
             choice_value("--set", name, names);
             line.check = check_sets().at(name);
         }},
        switch_option("--list", "print the cells and measure nothing", line.list),
        switch_option(
            "--absent-fails",
            "report cells that name a device this node lacks as failed, and measure the rest (default: refuse them all)",
            line.absent_fails),
        count_option("--rounds", "measure each cell in N rounds (default: until its best rate is repeated, at most 8 rounds)",
                     line.policy.visits, most_visits),
        seconds_option("--budget", "measure for this time in total, divided among the cells", line.policy.budget),
        seconds_option("--idle", "wait this long before the first measurement, without opening a GPU", line.idle)};
    own.insert(own.end(), shared.begin(), shared.end());
    return with_common(std::move(own), line);
}

CommandLine parse_command_line(int argc, char** argv, Options (*table)(CommandLine&)) {
    CommandLine line;
    line.words.assign(argv, argv + argc);
    read_options(line.words, table(line), [&](const std::string& word) { line.cells.push_back(parse_cell(word)); });
    if (line.check && !line.cells.empty()) throw WrongUse("--set says which cells: leave " + line.cells.front().text() + " out");
    leave_out_repeated(line.cells);
    line.policy.hang_seconds = line.hang_seconds;
    return line;
}

}  // namespace nearfar
