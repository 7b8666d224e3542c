// Values as the fields of a message, and read back from them, in one order: for a structure a function each_field(value, visit) visits
// its members.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/message.h"

namespace nearfar {

class FieldWriter {
public:
    explicit FieldWriter(Message& message) : message_(message) {}

    template <typename Value>
    void operator()(Value& value) {
        if constexpr (std::is_same_v<Value, std::string>)
            message_.fields.push_back(value);
        else if constexpr (std::is_enum_v<Value>)
            message_.fields.push_back(std::to_string(static_cast<int>(value)));
        else if constexpr (std::is_floating_point_v<Value>)
            message_.fields.push_back(number_field(value));
        else if constexpr (std::is_arithmetic_v<Value>)
            message_.fields.push_back(std::to_string(value));
        else
            each_field(value, *this);
    }
    template <typename Value>
    void operator()(std::optional<Value>& value) {
        message_.fields.emplace_back(value ? "1" : "0");
        if (value) (*this)(*value);
    }
    template <typename Item>
    void operator()(std::vector<Item>& items) {
        message_.fields.push_back(std::to_string(items.size()));
        for (Item& item : items) (*this)(item);
    }
    template <typename Key, typename Value>
    void operator()(std::map<Key, Value>& items) {
        message_.fields.push_back(std::to_string(items.size()));
        for (auto& [key, value] : items) {
            (*this)(key);
            (*this)(value);
        }
    }

private:
    Message& message_;
};

// Throws std::invalid_argument for a field that is not there, or is no number where one is wanted.
class FieldReader {
public:
    explicit FieldReader(const Message& message) : message_(message) {}

    template <typename Value>
    void operator()(Value& value) {
        if constexpr (std::is_same_v<Value, std::string>)
            value = message_.field(at_++);
        else if constexpr (std::is_same_v<Value, std::size_t>)
            value = message_.count(at_++);
        else if constexpr (std::is_enum_v<Value> || std::is_integral_v<Value>)
            value = static_cast<Value>(static_cast<int>(message_.number(at_++)));
        else if constexpr (std::is_arithmetic_v<Value>)
            value = static_cast<Value>(message_.number(at_++));
        else
            each_field(value, *this);
    }
    template <typename Value>
    void operator()(std::optional<Value>& value) {
        if (message_.count(at_++) == 0) return value.reset();
        (*this)(value.emplace());
    }
    template <typename Item>
    void operator()(std::vector<Item>& items) {
        for (std::size_t left = message_.count(at_++); left > 0; --left) (*this)(items.emplace_back());
    }
    template <typename Key, typename Value>
    void operator()(std::map<Key, Value>& items) {
        for (std::size_t left = message_.count(at_++); left > 0; --left) {
            Key key{};
            (*this)(key);
            (*this)(items[key]);
        }
    }

private:
    const Message& message_;
    std::size_t at_ = 0;
};

template <typename Value>
Message message_of(const char* word, Value value) {
    Message message{word, {}};
    FieldWriter write(message);
    write(value);
    return message;
}

template <typename Value>
Value value_in(const Message& message) {
    Value value{};
    FieldReader read(message);
    read(value);
    return value;
}

}  // namespace nearfar
