#include "output/json.h"

#include <cmath>
#include <cstdio>

namespace nearfar {

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
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == '"' || c == '\\') {
            text_ += '\\';
            text_ += c;
        } else if (byte < 0x20) {
            char escaped[8];
            std::snprintf(escaped, sizeof escaped, "\\u%04x", byte);
            text_ += escaped;
        } else {
            text_ += c;
        }
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
