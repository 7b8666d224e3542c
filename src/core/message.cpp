#include "core/message.h"

#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <utility>

namespace nearfar {
namespace {

constexpr std::pair<char, char> escapes[] = {{'\t', 't'}, {'\n', 'n'}, {'\r', 'r'}, {'\\', '\\'}};

void append_escaped(std::string& line, const std::string& field) {
    for (const char c : field) {
        char letter = 0;
        for (const auto& [plain, escape] : escapes)
            if (c == plain) letter = escape;
        if (letter != 0) line += '\\';
        line += letter != 0 ? letter : c;
    }
}

std::string unescaped(const std::string& text) {
    std::string plain_text;
    plain_text.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        char read = text[i];
        if (read == '\\' && i + 1 < text.size()) {
            for (const auto& [plain, escape] : escapes) {
                if (text[i + 1] != escape) continue;
                read = plain;
                ++i;
                break;
            }
        }
        plain_text += read;
    }
    return plain_text;
}

}  // namespace

const std::string& Message::field(std::size_t position) const {
    if (position >= fields.size())
        throw std::invalid_argument("'" + word + "' has " + std::to_string(fields.size()) + " fields, not " +
                                    std::to_string(position + 1));
    return fields[position];
}

double Message::number(std::size_t position) const {
    const std::string& text = field(position);
    char* end = nullptr;
    const double read = std::strtod(text.c_str(), &end);
    if (text.empty() || *end != '\0') throw std::invalid_argument("'" + word + "': '" + text + "' is not a number");
    return read;
}

std::size_t Message::count(std::size_t position) const {
    const std::string& text = field(position);
    if (text.empty() || text.size() > 19 || text.find_first_not_of("0123456789") != std::string::npos)
        throw std::invalid_argument("'" + word + "': '" + text + "' is not a count");
    return std::strtoull(text.c_str(), nullptr, 10);
}

std::string Message::line() const {
    std::string line;
    append_escaped(line, word);
    for (const std::string& field : fields) {
        line += '\t';
        append_escaped(line, field);
    }
    return line;
}

std::string number_field(double number) {
    char text[40];
    std::snprintf(text, sizeof text, "%.17g", number);
    return text;
}

Message parse_message(const std::string& line) {
    Message message;
    std::size_t begin = 0;
    for (bool first = true;; first = false) {
        const std::size_t end = line.find('\t', begin);
        const std::string part = unescaped(line.substr(begin, end == std::string::npos ? end : end - begin));
        if (first)
            message.word = part;
        else
            message.fields.push_back(part);
        if (end == std::string::npos) return message;
        begin = end + 1;
    }
}

}  // namespace nearfar
