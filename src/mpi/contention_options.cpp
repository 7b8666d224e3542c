#include "mpi/contention_options.h"

#include <cmath>
#include <optional>

#include "cell/sizes.h"
#include "core/error.h"
#include "core/option_values.h"

namespace nearfar {

const char* const contention_help =
    "mpirun --bind-to none -n RANKS nearfar-contention [options]: what MPI and data transfers of a node cost each other\n\n"
    "The first ranks of each host move data, one for each GPU, in both directions; the others are pairs that exchange messages. Each\n"
    "binds itself: let the launcher bind nothing. Measured in turns, round after round: each kind alone, both together, and MPI beside\n"
    "movers that only keep their cores busy. With ranks on several hosts, pairs are between hosts.\n\n"
    "  --mpi-only         pairs alone: nobody moves data\n"
    "  --with gpu|stream  what moves data: GPUs (default), or STREAM by one core where there is none\n"
    "  --layout together|split|together,split\n"
    "                     each mover shares its rank with an MPI thread: both near the GPU, or the MPI thread near the NIC (where none\n"
    "                     is known: on another package); with 1, 2 ... all movers. Two ranks a mover on one host, one on several\n"
    "  --nic NAME         the NIC that split moves to (mlx5_0)\n"
    "  --tasks N          so many movers on each host (default: GPUs; with stream: NUMA nodes)\n"
    "  --flows both|h2d|d2h  directions of each mover (default both)\n"
    "  --gpus PCI,PCI…    what g0, g1 … are\n"
    "  --sizes A,B        of messages (default 8B,1MiB); the largest is streamed too\n"
    "  --rounds N         at most (default 14); 6, 9 … suffice where intervals are narrow\n"
    "  --window SECONDS   each measurement's (default 0.2)\n"
    "  --oversubscribe    threads may share cores\n"
    "  --even-if-busy     use GPUs that other processes use\n"
    "  --list             print who runs where, and measure nothing\n"
    "  --json[=FILE]      print the measurement document (or write it to FILE) in place of the table\n"
    "  --timeout SECONDS  a rank that keeps the others waiting so long ends the run (default 30)\n"
    "  --version, --help\n"
    "\nexamples:\n"
    "  mpirun --bind-to none -n 2 nearfar-contention --mpi-only            two cores: latency and bandwidth of MPI\n"
    "  mpirun --bind-to none -n 3 nearfar-contention --with stream --tasks 1   beside STREAM on one core\n"
    "  mpirun --bind-to none -n 12 nearfar-contention --json               four GPUs, a pair for each\n"
    "  mpirun --bind-to none -n 8 nearfar-contention --layout split        four GPUs, threads split\n"
    "\nexit codes: 0 measured, 1 something failed (wrong data, a rank died), 2 wrong use, 3 something could not be measured\n";

namespace {

int count(const std::string& option, const std::string& text, int most) {
    const double value = positive_value(option, text);
    if (value != std::floor(value) || value > most)
        throw WrongUse(option + " needs a whole number from 1 to " + std::to_string(most) + ", not '" + text + "'");
    return static_cast<int>(value);
}

// The one of `known` that is meant, by its place.
std::size_t choice(const std::string& option, const std::string& text, const std::vector<std::string>& known) {
    std::string all;
    for (std::size_t i = 0; i < known.size(); ++i) {
        if (known[i] == text) return i;
        all.append(all.empty() ? "" : ", ").append(known[i]);
    }
    throw WrongUse(option + " '" + text + "': expected one of " + all);
}

std::vector<Traffic> traffics_of(const std::vector<std::size_t>& sizes) {
    constexpr std::size_t most = std::size_t{64} << 20;
    if (sizes.back() > most) throw WrongUse("--sizes: messages of at most 64 MiB");
    std::vector<Traffic> traffics;
    for (const std::size_t bytes : sizes) traffics.push_back({Traffic::Kind::ping_pong, bytes});
    traffics.push_back({Traffic::Kind::stream, sizes.back()});
    return traffics;
}

std::vector<Layout> layouts_of(const std::string& option, const std::string& text) {
    std::vector<Layout> layouts;
    for (const std::string& word : split_list(text))
        layouts.push_back(choice(option, word, {"together", "split"}) == 0 ? Layout::together : Layout::split);
    if (layouts.empty() || layouts.size() > 2 || (layouts.size() == 2 && layouts[0] == layouts[1]))
        throw WrongUse(option + " '" + text + "': expected together, split or both, each once");
    return layouts;
}

}  // namespace

ContentionOptions parse_contention_options(int argc, char** argv) {
    ContentionOptions options;
    options.traffics = traffics_of(parse_sizes("8B,1MiB"));
    for (int i = 0; i < argc; ++i) options.words.emplace_back(argv[i]);
    bool mpi_only = false;
    for (std::size_t i = 1; i < options.words.size(); ++i) {
        const std::string& word = options.words[i];
        const std::string name = word.substr(0, word.find('='));
        // `--name VALUE` or `--name=VALUE`
        const auto value = [&]() -> std::string {
            if (name.size() < word.size()) return word.substr(name.size() + 1);
            if (i + 1 >= options.words.size()) throw WrongUse(name + " needs a value");
            return options.words[++i];
        };
        if (word == "--mpi-only") {
            mpi_only = true;
        } else if (name == "--with") {
            options.ask.with = choice(name, value(), {"gpu", "stream"}) == 0 ? With::gpu : With::stream;
        } else if (name == "--layout") {
            options.ask.layouts = layouts_of(name, value());
        } else if (name == "--nic") {
            options.ask.nic = value();
        } else if (name == "--tasks") {
            options.ask.tasks = count(name, value(), 1024);
        } else if (name == "--flows") {
            const std::size_t which = choice(name, value(), {"both", "h2d", "d2h"});
            options.ask.to_gpu = which != 2;
            options.ask.to_host = which != 1;
        } else if (name == "--gpus") {
            options.gpus = split_list(value());
        } else if (name == "--sizes") {
            options.traffics = traffics_of(parse_sizes(value()));
        } else if (name == "--rounds") {
            options.most_rounds = static_cast<std::size_t>(count(name, value(), 1000));
        } else if (name == "--window") {
            options.window = positive_value(name, value());
        } else if (name == "--timeout") {
            options.hang_seconds = positive_value(name, value());
        } else if (word == "--oversubscribe") {
            options.ask.oversubscribe = true;
        } else if (word == "--even-if-busy") {
            options.even_if_busy = true;
        } else if (word == "--list") {
            options.list = true;
        } else if (name == "--json") {
            options.json = true;
            if (name.size() < word.size()) options.json_file = value();
        } else if (word == "--help" || word == "-h") {
            options.help = true;
        } else if (word == "--version") {
            options.version = true;
        } else {
            throw WrongUse("unknown option or argument '" + word + "'; see --help");
        }
    }
    if (!mpi_only) return options;
    if (options.ask.layouts.front() != Layout::apart)
        throw WrongUse("--mpi-only has no movers whose threads --layout could place");
    options.ask.with = With::nothing;
    return options;
}

}  // namespace nearfar
