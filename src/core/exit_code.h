// How a program ends.
#pragma once

namespace nearfar {

constexpr int exit_failed = 1;        // the node did something wrong
constexpr int exit_wrong_use = 2;     // nothing was measured: the words on standard error say what to change
constexpr int exit_not_measured = 3;  // something was prevented that was not expected to be

}  // namespace nearfar
