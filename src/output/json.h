// A small writer of JSON: nested objects and arrays, commas placed by itself. Numbers that are not finite become null.
#pragma once

#include <cstdint>
#include <optional>
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

    // null where there is nothing.
    template <typename T>
    Json& value(const std::optional<T>& content) {
        return content ? value(*content) : null();
    }
    template <typename T>
    Json& value(const std::vector<T>& items) {
        begin_array();
        for (const T& item : items) value(item);
        return end_array();
    }

    template <typename T>
    Json& field(std::string_view name, const T& content) {
        key(name);
        return value(content);
    }
    // No field where there is nothing.
    template <typename T>
    Json& field_if(std::string_view name, const std::optional<T>& content) {
        return content ? field(name, *content) : *this;
    }
    // An object, of which `write` writes the fields.
    template <typename Write>
    Json& object(const Write& write) {
        begin_object();
        write();
        return end_object();
    }
    template <typename Write>
    Json& object(std::string_view name, const Write& write) {
        return key(name).object(write);
    }
    // An array with an object for each item, of which `write` writes the fields.
    template <typename Items, typename Write>
    Json& objects(std::string_view name, const Items& items, const Write& write) {
        key(name).begin_array();
        for (const auto& item : items) object([&] { write(item); });
        return end_array();
    }

    const std::string& text() const { return text_; }

private:
    std::string text_;
    std::vector<bool> has_items_{false};
    bool after_key_ = false;

    void separate();
};

}  // namespace nearfar
