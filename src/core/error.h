// What can go wrong, sorted by who has to act: the user, the site, or the hardware.
#pragma once

#include <stdexcept>
#include <string>

namespace nearfar {

// How a program ends.
constexpr int exit_failed = 1;        // the node did something wrong
constexpr int exit_wrong_use = 2;     // nothing was measured: the words on standard error say what to change
constexpr int exit_not_measured = 3;  // something was prevented that was not expected to be

// The command was used wrongly (exit code 2).
struct WrongUse : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// Measuring was prevented: the cell is `skipped` with this code (see docs/reference/document.md) and reason.
struct Prevented : std::runtime_error {
    Prevented(std::string code_, const std::string& reason) : std::runtime_error(reason), code(std::move(code_)) {}
    std::string code;
};

// The node did something wrong: the cell is `failed` with this code and reason.
struct Failure : std::runtime_error {
    Failure(std::string code_, const std::string& reason) : std::runtime_error(reason), code(std::move(code_)) {}
    std::string code;
};

// This process can measure no more, and a new one may: what is left of the run is for that one.
struct ProcessSpent : std::runtime_error {
    using std::runtime_error::runtime_error;
};

}  // namespace nearfar
