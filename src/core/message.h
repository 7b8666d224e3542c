// What processes of one run say to each other: one line each, a word and its fields.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace nearfar {

// A line is the word and the fields with a tab before each. In a field a tab, a line feed, a carriage return and a backslash
// are written \t, \n, \r and \\, so that any text (a path, a reason, a piece of JSON) is a field.
struct Message {
    std::string word;
    std::vector<std::string> fields;

    // The field at a position; throws std::invalid_argument, which names the word, where there are fewer.
    const std::string& field(std::size_t position) const;
    // The same as a number or a count; throws std::invalid_argument where the field is none.
    double number(std::size_t position) const;
    std::size_t count(std::size_t position) const;

    // The line, without its line feed.
    std::string line() const;
};

// A number as a field: read back it is the same number.
std::string number_field(double number);

// Any line is a message: what is no escape stays as it is.
Message parse_message(const std::string& line);

}  // namespace nearfar
