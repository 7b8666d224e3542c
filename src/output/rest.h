// The rest of a session in a new process: a GPU that is lost can take CUDA of its whole process with it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cell/cell.h"
#include "cell/measure.h"
#include "output/command_line.h"

namespace nearfar {

// The command line that measures these cells as `line` would have, given on standard input; the document or the table goes to standard
// output.
std::vector<std::string> words_for_rest(const CommandLine& line);

// Takes the cells that were left out for this reason out of the session's skipped ones.
std::vector<Cell> take_rest(Session& session, const std::string& reason);

// Measures cells in a new process of this program and adds what it says to the session: to a document its results, to a table its
// lines. Where it cannot be run or says nothing they are skipped for `reason`.
void measure_rest(const CommandLine& line, const std::vector<Cell>& cells, const std::string& reason, Session& session);

// What stands between the brackets of a document's own array ("results"), or nothing. The text is one of this program's documents.
std::string_view items_of(std::string_view document, std::string_view array);

}  // namespace nearfar
