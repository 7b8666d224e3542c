#include "core/options.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <set>
#include <sstream>

#include "core/error.h"

namespace nearfar {
namespace {

constexpr double most_seconds = 1e7;
constexpr std::size_t widest_help = 100;  // columns of a line of --help
constexpr std::size_t widest_left = 20;   // of a name with its value that its help stands beside

// How many letters have to be put in, left out or changed to make one word the other (Levenshtein).
std::size_t edits_between(const std::string& a, const std::string& b) {
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::size_t diagonal = std::exchange(row[0], i);
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t changed = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
            diagonal = std::exchange(row[j], std::min({row[j] + 1, row[j - 1] + 1, changed}));
        }
    }
    return row.back();
}

// Names the shown option that is nearest, where one is near.
[[noreturn]] void refuse_option(const std::string& name, const Options& options) {
    const std::string meant = "--" + name.substr(std::min(name.find_first_not_of('-'), name.size()));
    std::string nearest;
    std::size_t fewest = 3;
    for (const Option& option : options) {
        const bool begun = meant.size() > 4 && option.name.rfind(meant, 0) == 0;
        const std::size_t edits = begun ? 1 : edits_between(meant, option.name);
        if (option.help.empty() || edits >= fewest || 2 * edits > option.name.size() - 2) continue;
        fewest = edits;
        nearest = option.name;
    }
    const std::string hint = nearest.empty() ? "; see --help" : ": did you mean '" + nearest + "'? See --help";
    throw WrongUse("unknown option '" + name + "'" + hint);
}

// On a terminal, where a letter may have several bytes.
std::size_t columns(const std::string& text) {
    return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

// The text in lines of at most so many columns, broken at blanks; `indent` stands before all but the first.
std::string wrapped(const std::string& text, std::size_t width, const std::string& indent) {
    std::string lines;
    std::size_t used = 0;
    std::istringstream words(text);
    for (std::string word; words >> word;) {
        const bool fits = used == 0 || used + 1 + columns(word) <= width;
        if (used != 0) lines.append(fits ? " " : "\n" + indent);
        used = (fits && used != 0 ? used + 1 : 0) + columns(word);
        lines += word;
    }
    return lines;
}

bool may_be_left_out(const Option& option) { return option.value[0] == '['; }

// Whether a word is the number that an option may have: no cell, file or name is one.
bool is_its_number(const Option& option, const std::string& word) {
    return option.value == "[=N]" && !word.empty() &&
           std::all_of(word.begin(), word.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
}

// "--budget SECONDS", "--json[=FILE]".
std::string left_side(const Option& option) {
    if (option.value.empty()) return option.name;
    return option.name + (may_be_left_out(option) ? "" : " ") + option.value;
}

// What is said of a word is one line.
void refuse_control_characters(std::string word) {
    if (std::none_of(word.begin(), word.end(), [](unsigned char c) { return std::iscntrl(c) != 0; })) return;
    std::replace_if(
        word.begin(), word.end(), [](unsigned char c) { return std::iscntrl(c) != 0; }, '?');
    throw WrongUse("'" + word + "' holds control characters, shown as '?'");
}

// The value of the option at `position`, which moves on where it is a word of its own; empty: it has none.
std::string value_of(const Option& option, const std::vector<std::string>& words, std::size_t& position) {
    const std::string& word = words[position];
    const std::size_t sign = word.find('=');
    if (sign != std::string::npos) {
        const std::string value = word.substr(sign + 1);
        if (option.value.empty()) throw WrongUse(option.name + " takes no value, not '" + value + "'");
        if (value.empty()) throw WrongUse(option.name + "= needs a value: " + option.value);
        return value;
    }
    const bool last = position + 1 == words.size();
    if (option.value.empty()) return "";
    if (may_be_left_out(option)) return !last && is_its_number(option, words[position + 1]) ? words[++position] : "";
    if (last || words[position + 1].rfind("--", 0) == 0) throw WrongUse(option.name + " needs a value: " + option.value);
    return words[++position];
}

}  // namespace

void read_options(const std::vector<std::string>& words, const Options& options,
                  const std::function<void(const std::string&)>& read_word) {
    for (const std::string& word : words) refuse_control_characters(word);
    std::set<std::string> given;
    bool words_alone = false;
    for (std::size_t i = 1; i < words.size(); ++i) {
        const std::string& word = words[i];
        if (words_alone || word.empty() || word[0] != '-') {
            read_word(word);
            continue;
        }
        words_alone = word == "--";
        if (words_alone) continue;
        const std::string name = word == "-h" ? "--help" : word.substr(0, word.find('='));
        const auto option = std::find_if(options.begin(), options.end(), [&](const Option& one) { return one.name == name; });
        if (option == options.end()) refuse_option(name, options);
        const std::string value = value_of(*option, words, i);
        if (!given.insert(name).second && !option->value.empty() && !option->repeats) throw WrongUse(name + " is named twice");
        option->read(value);
    }
}

void refuse_word(const std::string& word) { throw WrongUse("unknown argument '" + word + "'; see --help"); }

std::string options_help(const Options& options) {
    std::size_t width = 0;
    for (const Option& option : options) {
        const std::size_t left = columns(left_side(option));
        if (!option.help.empty() && left <= widest_left) width = std::max(width, left);
    }
    const std::string indent(width + 4, ' ');
    std::string text;
    for (const Option& option : options) {
        if (option.help.empty()) continue;
        const std::string left = left_side(option);
        text.append("  ").append(left).append(columns(left) > width ? "\n" + indent
                                                                    : std::string(width - columns(left) + 2, ' '));
        text.append(wrapped(option.help, widest_help - indent.size(), indent)) += '\n';
    }
    return text;
}

Option switch_option(const std::string& name, const std::string& help, bool& field) {
    return {name, "", help, [&field](const std::string&) { field = true; }};
}

Option seconds_option(const std::string& name, const std::string& help, double& field) {
    return {name, "SECONDS", help, [=, &field](const std::string& text) {
                char* end = nullptr;
                field = std::strtod(text.c_str(), &end);
                if (text.empty() || *end != '\0' || !(field > 0) || !(field <= most_seconds))
                    throw WrongUse(name + " needs a number of seconds above 0 (at most 10000000), not '" + text + "'");
            }};
}

int whole_value(const std::string& option, const std::string& text, int least, int most) {
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    if (text.empty() || *end != '\0' || value != std::floor(value) || !(value >= least) || !(value <= most))
        throw WrongUse(option + " needs a number from " + std::to_string(least) + " to " + std::to_string(most) +
                       " (whole), not '" + text + "'");
    return static_cast<int>(value);
}

std::vector<std::string> list_value(const std::string& option, const std::string& text) {
    std::vector<std::string> parts(1);
    for (const char c : text) {
        if (c == ',')
            parts.emplace_back();
        else
            parts.back() += c;
    }
    if (std::find(parts.begin(), parts.end(), "") != parts.end())
        throw WrongUse(option + " needs a list with single commas between its parts, not '" + text + "'");
    return parts;
}

std::size_t choice_value(const std::string& option, const std::string& text, const std::vector<std::string>& known) {
    const auto found = std::find(known.begin(), known.end(), text);
    if (found != known.end()) return static_cast<std::size_t>(found - known.begin());
    std::string all;
    const bool two = known.size() == 2;
    for (const std::string& word : known) all.append(all.empty() ? "" : two ? " nor " : ", ").append(word);
    throw WrongUse(option + ": '" + text + "' is " + (two ? "neither " : "none of ") + all);
}

std::string joined_list(const std::vector<std::string>& parts) {
    std::string list;
    for (const std::string& part : parts) list += (list.empty() ? "" : ",") + part;
    return list;
}

}  // namespace nearfar
