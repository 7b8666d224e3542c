// Reads texts, one a line, and prints what the parser makes of each: `ok`, a tab and the canonical form, or `bad`, a tab and the
// column. tests/programs/test_cell_parsers.py compares that with the Python parser's.
#include <cstdio>
#include <iostream>
#include <string>

#include "cell/cell.h"

int main() {
    for (std::string line; std::getline(std::cin, line);) {
        try {
            std::printf("ok\t%s\n", nearfar::parse_cell(line).text().c_str());
        } catch (const nearfar::CellError& error) {
            std::printf("bad\t%zu\n", error.column);
        }
    }
    return 0;
}
