// The options that all programs share.
#pragma once

#include <string>
#include <vector>

#include "core/options.h"

namespace nearfar {

struct CommonOptions {
    std::vector<std::string> words;  // as given, for the document
    std::vector<std::string> gpus;   // PCI addresses of g0, g1 …; none: as found
    bool json = false;
    std::string json_file;     // empty: standard output
    double hang_seconds = 30;  // without progress
    bool help = false;
    bool version = false;
};

// What a program says for --help around its options.
struct HelpText {
    const char* before;  // the usage line, and what words mean
    const char* after;   // examples and exit codes
};

// `table` gives all options of a program with the fields that they are read into.
template <typename Fields>
std::string help_of(const HelpText& text, Options (*table)(Fields&)) {
    Fields fields;
    return text.before + options_help(table(fields)) + text.after;
}

// The program's own options followed by the common ones.
Options with_common(Options own, CommonOptions& into);

// --even-if-busy, of programs that measure with GPUs.
Option even_if_busy_option(bool& field);

}  // namespace nearfar
