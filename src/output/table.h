// The lines of a program's table, where no document is asked for.
#pragma once

#include <cstdio>
#include <string>

#include "cell/results.h"

namespace nearfar {

// Above the rows of cells.
std::string table_heading();

// A result with its flows, each a line: the plateau, or the median where there is none, the median, the steadiness, how often it was
// visited, and what part of its link's ceiling the first is.
// Of a tail its worst has a line; `began`: when the run began, on CLOCK_MONOTONIC.
std::string table_rows(const CellResult& result, double began = 0);
std::string table_row(const SizeCurve& curve);
// A cell that has no result: "skipped" or "FAILED", and why.
std::string table_row(const NotMeasured& cell, const char* what);

// What printf() would print, at most 255 bytes of it.
template <typename... Values>
std::string formatted(const char* format, Values... values) {
    char line[256];
    std::snprintf(line, sizeof line, format, values...);
    return line;
}

}  // namespace nearfar
