#include "output/json.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace nearfar {

namespace {

// Bytes of the character of UTF-8 that a text begins with; 0 where it begins with none.
std::size_t character_length(std::string_view text) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const std::size_t length = byte(0) < 0x80 ? 1 : byte(0) >= 0xf0 ? 4 : byte(0) >= 0xe0 ? 3 : 2;
    if (length == 1) return 1;
    if (byte(0) < 0xc2 || byte(0) > 0xf4 || text.size() < length) return 0;
    for (std::size_t i = 1; i < length; ++i)
        if ((byte(i) & 0xc0) != 0x80) return 0;
    const bool overlong = (byte(0) == 0xe0 && byte(1) < 0xa0) || (byte(0) == 0xf0 && byte(1) < 0x90);
    const bool surrogate = byte(0) == 0xed && byte(1) > 0x9f;
    const bool beyond = byte(0) == 0xf4 && byte(1) > 0x8f;
    return overlong || surrogate || beyond ? 0 : length;
}

}  // namespace

void Json::separate() {
    if (!after_key_) {
        if (has_items_.back()) text_ += ", ";
        has_items_.back() = true;
    }
    after_key_ = false;
}

Json& Json::begin_object() {
    separate();
    text_ += '{';
    has_items_.push_back(false);
    return *this;
}

Json& Json::end_object() {
    has_items_.pop_back();
    text_ += '}';
    return *this;
}

Json& Json::begin_array() {
    separate();
    text_ += '[';
    has_items_.push_back(false);
    return *this;
}

Json& Json::end_array() {
    has_items_.pop_back();
    text_ += ']';
    return *this;
}

Json& Json::key(std::string_view name) {
    value(name);
    text_ += ": ";
    after_key_ = true;
    return *this;
}

Json& Json::value(std::string_view text) {
    separate();
    text_ += '"';
    for (std::size_t i = 0; i < text.size();) {
        const std::size_t length = character_length(text.substr(i, 4));
        const char c = text[i];
        const auto byte = static_cast<unsigned char>(c);
        if (length == 0) {
            text_ += "\\ufffd";  // what is no UTF-8, as a file's name may hold it
        } else if (c == '"' || c == '\\') {
            text_ += '\\';
            text_ += c;
        } else if (byte < 0x20) {
            char escaped[8];
            std::snprintf(escaped, sizeof escaped, "\\u%04x", byte);
            text_ += escaped;
        } else {
            text_ += text.substr(i, length);
        }
        i += std::max<std::size_t>(length, 1);
    }
    text_ += '"';
    return *this;
}

Json& Json::value(double number) {
    if (!std::isfinite(number)) return null();
    separate();
    char digits[32];
    std::snprintf(digits, sizeof digits, "%.7g", number);
    text_ += digits;
    return *this;
}

Json& Json::value(std::int64_t number) {
    separate();
    text_ += std::to_string(number);
    return *this;
}

Json& Json::value(std::uint64_t number) {
    separate();
    text_ += std::to_string(number);
    return *this;
}

Json& Json::value(bool truth) {
    separate();
    text_ += truth ? "true" : "false";
    return *this;
}

Json& Json::json(std::string_view text) {
    separate();
    text_ += text;
    return *this;
}

Json& Json::null() {
    separate();
    text_ += "null";
    return *this;
}

}  // namespace nearfar
