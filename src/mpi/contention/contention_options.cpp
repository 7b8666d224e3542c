#include "mpi/contention/contention.h"

#include "cell/sizes.h"
#include "core/error.h"

namespace nearfar {
namespace {

const HelpText text{
    "mpirun --bind-to none -n RANKS nearfar-contention [options]: measures how much MPI and data transfers on a node slow each other down\n\n"
    "The first ranks of each host move data in both directions, one rank per GPU; the others form pairs that exchange messages. Each\n"
    "rank binds itself, so the launcher must not. Each round measures each kind alone, both together, and MPI beside movers that only\n"
    "keep their cores busy. With ranks on several hosts, the pairs are between hosts.\n\n"
    "options:\n",
    "\nexamples:\n"
    "  mpirun --bind-to none -n 2 nearfar-contention --mpi-only            MPI latency and bandwidth between two cores\n"
    "  mpirun -n 4 nearfar-contention --between 0-0,0-1                     within NUMA node 0, and between 0 and 1\n"
    "  mpirun --bind-to none -n 3 nearfar-contention --with stream --tasks 1   beside STREAM on one core\n"
    "  mpirun --bind-to none -n 12 nearfar-contention --json               four GPUs, and a pair for each\n"
    "  mpirun --bind-to none -n 8 nearfar-contention --layout split        four GPUs, threads split\n"
    "\nexit codes: 0 measured, 1 something failed (wrong data, a rank died), 2 wrong use, 3 something could not be measured\n"};

std::vector<Traffic> traffics_of(const std::vector<std::size_t>& sizes) {
    constexpr std::size_t most = std::size_t{64} << 20;
    if (sizes.back() > most) throw WrongUse("--sizes: messages of at most 64 MiB");
    std::vector<Traffic> traffics;
    for (const std::size_t bytes : sizes) traffics.push_back({Traffic::Kind::ping_pong, bytes});
    traffics.push_back({Traffic::Kind::stream, sizes.back()});
    return traffics;
}

std::vector<Layout> layouts_of(const std::string& list) {
    std::vector<Layout> layouts;
    for (const std::string& word : list_value("--layout", list))
        layouts.push_back(choice_value("--layout", word, {"together", "split"}) == 0 ? Layout::together : Layout::split);
    if (layouts.size() > 2 || (layouts.size() == 2 && layouts[0] == layouts[1]))
        throw WrongUse("--layout '" + list + "': expected together, split or both, each once");
    return layouts;
}

Options table(ContentionOptions& options) {
    ContentionAsk& ask = options.ask;
    return with_common(
        {switch_option("--mpi-only", "run only pairs that exchange messages, without movers", options.mpi_only),
         {"--between", "A-B,C-D",
          "run only pairs of two ranks, one pair at a time, bound to cores of NUMA nodes A and B before MPI starts",
          [&ask](const std::string& list) { ask.between = parse_numa_pairs(list); }},
         choice_option<With>("--with", "what moves data: GPUs (default), or STREAM on one core, for machines without a GPU",
                             ask.with, {{"gpu", With::gpu}, {"stream", With::stream}}),
         {"--layout", "together|split|together,split",
          "put an MPI thread into each mover's rank: both near the GPU (together), or the MPI thread near the NIC (split; on "
          "another package if no NIC is known); measured with 1, 2 … all movers. Needs two ranks per mover on one host, "
          "one on several",
          [&ask](const std::string& list) { ask.layouts = layouts_of(list); }},
         {"--nic", "NAME", "with --layout split: the NIC to bind the MPI thread near, such as mlx5_0",
          [&ask](const std::string& name) { ask.nic = name; }},
         count_option("--tasks", "number of movers on each host (default: as many as GPUs; with stream: as NUMA nodes)",
                      ask.tasks, 1024),
         {"--flows", "both|h2d|d2h", "directions of each mover (default both)",
          [&ask](const std::string& flows) {
              const std::size_t which = choice_value("--flows", flows, {"both", "h2d", "d2h"});
              ask.to_gpu = which != 2;
              ask.to_host = which != 1;
          }},
         {"--sizes", "A,B", "sizes of messages (default 8B,1MiB); the bandwidth is measured with the largest",
          [&options](const std::string& sizes) { options.traffics = traffics_of(parse_sizes(sizes)); }},
         count_option("--rounds", "at most N rounds (default 14); it stops after 6 or more when the intervals are narrow enough",
                      options.most_rounds, 1000),
         seconds_option("--window", "duration of each measurement (default 0.2)", options.window),
         switch_option("--oversubscribe", "let threads share cores", ask.oversubscribe),
         even_if_busy_option(options.even_if_busy),
         switch_option("--list", "print where each rank runs, and measure nothing", options.list)},
        options);
}

}  // namespace

ContentionOptions parse_contention_options(int argc, char** argv) {
    ContentionOptions options;
    options.traffics = traffics_of(parse_sizes("8B,1MiB"));
    options.words.assign(argv, argv + argc);
    read_options(options.words, table(options), refuse_word);
    const bool placed = !options.ask.between.empty();
    if (!options.mpi_only && !placed) return options;
    if (options.ask.layouts.front() != Layout::apart || options.ask.with == With::stream || options.ask.tasks > 0)
        throw WrongUse(std::string(placed ? "--between" : "--mpi-only") +
                       " has no movers: leave out --layout, --with stream and --tasks");
    options.ask.with = With::nothing;
    return options;
}

std::string contention_help() { return help_of(text, table); }

}  // namespace nearfar
