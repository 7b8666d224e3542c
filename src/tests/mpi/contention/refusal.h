// What a step says when it refuses.
#pragma once

#include <functional>
#include <stdexcept>
#include <string>

namespace nearfar {

// The words of the error that a step throws; empty where it throws none.
inline std::string refusal(const std::function<void()>& step) {
    try {
        step();
    } catch (const std::runtime_error& error) {
        return error.what();
    }
    return "";
}

}  // namespace nearfar
