// The options of a program as a table: the command line is read by it, and --help prints it.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace nearfar {

struct Option {
    std::string name;  // "--budget"
    std::string
        value;  // what --help calls its value: "SECONDS"; in brackets: may be left out ("[=N]": a number behind it is it); empty: it takes none
    std::string help;  // a line feed begins another line; empty: not shown
    std::function<void(const std::string& value)> read;
    bool repeats = false;  // may be given more than once though it takes a value
};

using Options = std::vector<Option>;

// Reads the words after the program's name: `--name VALUE` or `--name=VALUE`; `read_word` gets the others, and all after `--`.
// Throws WrongUse, which names the option, what is wrong and what is wanted.
void read_options(const std::vector<std::string>& words, const Options& options,
                  const std::function<void(const std::string&)>& read_word);

// For programs that know no other words.
void refuse_word(const std::string& word);

// A line or more for each option, aligned.
std::string options_help(const Options& options);

// Kinds of options, each with the field that it is read into.
Option switch_option(const std::string& name, const std::string& help, bool& field);
Option seconds_option(const std::string& name, const std::string& help, double& field);

// The values of options as people write them; each throws WrongUse, which names the option.
int whole_value(const std::string& option, const std::string& text, int least, int most);
// Texts with commas between them, none of them empty.
std::vector<std::string> list_value(const std::string& option, const std::string& text);
// The place of the text in `known`.
std::size_t choice_value(const std::string& option, const std::string& text, const std::vector<std::string>& known);

// A whole number from 1 to `most`.
template <typename Number>
Option count_option(const std::string& name, const std::string& help, Number& field, int most) {
    return {name, "N", help,
            [=, &field](const std::string& text) { field = static_cast<Number>(whole_value(name, text, 1, most)); }};
}

// One of a few words, each with what it stands for.
template <typename Value>
Option choice_option(const std::string& name, const std::string& help, Value& field,
                     const std::vector<std::pair<std::string, Value>>& choices) {
    std::vector<std::string> known;
    std::string value;
    for (const auto& [word, meaning] : choices) {
        known.push_back(word);
        value += (value.empty() ? "" : "|") + word;
    }
    return {name, value, help, [=, &field](const std::string& text) { field = choices[choice_value(name, text, known)].second; }};
}

// Texts with commas between them.
std::string joined_list(const std::vector<std::string>& parts);

}  // namespace nearfar
