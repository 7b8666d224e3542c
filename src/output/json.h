// A small writer of JSON: nested objects and arrays, commas placed by itself. Numbers that are not finite become null.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace nearfar {

class Json {
public:
    Json& begin_object();
    Json& end_object();
    Json& begin_array();
    Json& end_array();
    Json& key(std::string_view name);
    Json& value(std::string_view text);
    Json& value(const char* text) { return value(std::string_view(text)); }
    Json& value(const std::string& text) { return value(std::string_view(text)); }
    Json& value(double number);
    Json& value(std::int64_t number);
    Json& value(std::uint64_t number);
    Json& value(int number) { return value(static_cast<std::int64_t>(number)); }
    Json& value(bool truth);
    Json& null();
    // A value that is JSON already.
    Json& json(std::string_view text);

    template <typename T>
    Json& field(std::string_view name, const T& content) {
        key(name);
        return value(content);
    }

    const std::string& text() const { return text_; }

private:
    std::string text_;
    std::vector<bool> has_items_{false};
    bool after_key_ = false;

    void separate();
};

}  // namespace nearfar
