#include "kernels/saxpy_options.h"

#include <cstdlib>
#include <functional>
#include <map>

#include "cell/sizes.h"
#include "core/error.h"
#include "core/option_values.h"

namespace nearfar {

const char* const saxpy_help =
    "mpirun -n RANKS nearfar-saxpy [options]: the POP pattern, one rank a GPU: transfers, saxpy, a barrier, again and again\n\n"
    "Says by POP's definitions how well the ranks are balanced, under several bindings in turn, and what a rank's transfers reach.\n\n"
    "  --binding LIST   of default (as the launcher left the ranks), gpu (each rank's CPUs and memory on its GPU's NUMA node),\n"
    "                   wrong (on the farthest one); rounds of each in turn (default: default,gpu)\n"
    "  --device gpu|host host: host memory stands for the GPUs', where there are none\n"
    "  --bytes SIZE     of each of a rank's two vectors (default 64MiB)\n"
    "  --iterations N   in a round (default 20)\n"
    "  --rounds N       of each binding (default: 6 to 31, until the figures are known within 0.5 %)\n"
    "  --threads N      of the kernel with --device host (default 1)\n"
    "  --gpus PCI,PCI…  what GPUs 0, 1 … are\n"
    "  --oversubscribe  more ranks than cores; --even-if-busy: GPUs that other processes use\n"
    "  --json[=FILE]    print the measurement document (or write it to FILE) in place of the table\n"
    "  --budget SECONDS after which no further round begins (default 20)\n"
    "  --timeout SECONDS without progress: what was measured is printed, exit 1 (default 30)\n"
    "  --version, --help\n"
    "\nexamples:\n"
    "  mpirun -n 4 nearfar-saxpy                            four GPUs, as launched and beside their GPUs\n"
    "  mpirun -n 4 nearfar-saxpy --binding gpu,wrong --json what the wrong NUMA node costs, as a document\n"
    "  mpirun -n 2 nearfar-saxpy --device host              without a GPU\n"
    "\nexit codes: 0 measured, 1 failed (wrong data, lost GPU, a rank that died), 2 wrong use, 3 something could not be measured\n";

namespace {

double seconds(const std::string& option, const std::string& text) { return positive_value(option, text, "a number of seconds"); }

int count(const std::string& option, const std::string& text, int most) {
    char* end = nullptr;
    const long value = std::strtol(text.c_str(), &end, 10);
    if (text.empty() || *end != '\0' || value < 1 || value > most)
        throw WrongUse(option + " needs a number from 1 to " + std::to_string(most) + ", not '" + text + "'");
    return static_cast<int>(value);
}

std::size_t vector_bytes(const std::string& text) {
    std::vector<std::size_t> sizes;
    try {
        sizes = parse_sizes(text);
    } catch (const WrongUse&) {
        sizes.clear();  // told below, with this option's name
    }
    if (sizes.size() != 1 || sizes[0] % 4096 != 0)
        throw WrongUse("--bytes needs one size in whole pages of 4 KiB, such as 64MiB, not '" + text + "'");
    return sizes[0];
}

bool is_host(const std::string& text) {
    if (text != "host" && text != "gpu") throw WrongUse("--device: '" + text + "' is neither gpu nor host");
    return text == "host";
}

constexpr int most_iterations = 1000;
constexpr int most_rounds = 200;  // with 1000 iterations each far below what saxpy's exactness allows
constexpr int most_threads = 1024;

}  // namespace

SaxpyOptions parse_saxpy_options(int argc, char** argv) {
    SaxpyOptions options;
    for (int i = 0; i < argc; ++i) options.words.emplace_back(argv[i]);
    const std::map<std::string, bool*> switches{{"--oversubscribe", &options.oversubscribe},
                                                {"--even-if-busy", &options.even_if_busy},
                                                {"--help", &options.help},
                                                {"-h", &options.help},
                                                {"--version", &options.version}};
    const std::map<std::string, std::function<void(const std::string&)>> values{
        {"--binding", [&](const std::string& text) { options.bindings = parse_bindings(text); }},
        {"--device", [&](const std::string& text) { options.host_device = is_host(text); }},
        {"--bytes", [&](const std::string& text) { options.bytes = vector_bytes(text); }},
        {"--iterations", [&](const std::string& text) { options.iterations = count("--iterations", text, most_iterations); }},
        {"--rounds", [&](const std::string& text) { options.rounds = count("--rounds", text, most_rounds); }},
        {"--threads", [&](const std::string& text) { options.threads = count("--threads", text, most_threads); }},
        {"--budget", [&](const std::string& text) { options.budget = seconds("--budget", text); }},
        {"--timeout", [&](const std::string& text) { options.hang_seconds = seconds("--timeout", text); }},
        {"--gpus", [&](const std::string& text) { options.gpus = split_list(text); }}};
    for (std::size_t i = 1; i < options.words.size(); ++i) {
        const std::string& word = options.words[i];
        const std::size_t sign = word.find('=');
        const std::string name = word.substr(0, sign);
        if (switches.count(word) > 0) {
            *switches.at(word) = true;
        } else if (name == "--json") {
            options.json = true;
            if (sign != std::string::npos) options.json_file = word.substr(sign + 1);
        } else if (values.count(name) > 0) {
            if (sign == std::string::npos && i + 1 >= options.words.size()) throw WrongUse(name + " needs a value");
            values.at(name)(sign == std::string::npos ? options.words[++i] : word.substr(sign + 1));
        } else {
            throw WrongUse("unknown option '" + word + "'; see --help");
        }
    }
    return options;
}

}  // namespace nearfar
