#include "output/cell_file.h"

#include <cctype>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "core/error.h"

namespace nearfar {
namespace {

// The next line up to its comment; false at the end. Looks at each letter as it comes: a device may have no end.
bool next_line(std::istream& text, const std::string& place, std::string& line) {
    line.clear();
    int letter = 0;
    while ((letter = text.get()) != EOF && letter != '\n') {
        if (std::iscntrl(letter) != 0 && letter != '\t' && letter != '\r') throw WrongUse(place + ": not a text file");
        line += static_cast<char>(letter);
    }
    const bool some = letter != EOF || !line.empty();
    line = line.substr(0, line.find('#'));
    return some;
}

std::vector<FileLine> read_lines(std::istream& text, const std::string& name) {
    std::vector<FileLine> lines;
    std::string line;
    for (int number = 1;; ++number) {
        const std::string place = name + ":" + std::to_string(number);
        if (!next_line(text, place, line)) return lines;
        const std::size_t first = line.find_first_not_of(" \t\r");
        if (first == std::string::npos) continue;
        lines.push_back({place, line.substr(first, line.find_last_not_of(" \t\r") - first + 1)});
    }
}

}  // namespace

std::vector<FileLine> cell_lines(const std::string& name) {
    std::vector<FileLine> lines;
    if (name == "-") {
        lines = read_lines(std::cin, "standard input");
    } else {
        if (std::filesystem::is_directory(name)) throw WrongUse("--cells " + name + ": this is a directory; name a file");
        std::ifstream file(name);
        if (!file) throw WrongUse("--cells " + name + ": the file cannot be read");
        lines = read_lines(file, name);
    }
    if (lines.empty()) throw WrongUse("--cells " + name + ": the file has no cells");
    return lines;
}

Option cells_option(const std::function<void(const std::string&)>& read) {
    return {"--cells", "FILE|-", "read cells from a file or standard input, one per line, as --list prints them", read, true};
}

}  // namespace nearfar
