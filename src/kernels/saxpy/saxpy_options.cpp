#include "kernels/saxpy/saxpy_options.h"

#include "cell/sizes.h"
#include "core/error.h"

namespace nearfar {
namespace {

constexpr int most_iterations = 1000;
constexpr int most_rounds = 200;  // with 1000 iterations each far below what saxpy's exactness allows

const HelpText text{
    "mpirun -n RANKS nearfar-kernels saxpy [options]: measures load balance with one rank per GPU, which repeats transfers, saxpy and a barrier (the POP pattern)\n\n"
    "Prints load balance and communication efficiency as POP defines them, under several bindings, and the transfer rates.\n\n"
    "options:\n",
    "\nexamples:\n"
    "  mpirun -n 4 nearfar-kernels saxpy                            four GPUs, with the launcher's binding and with ranks beside their GPUs\n"
    "  mpirun -n 4 nearfar-kernels saxpy --binding gpu,wrong --json how much the wrong NUMA node costs, as a document\n"
    "  mpirun -n 2 nearfar-kernels saxpy --device host              without a GPU\n"
    "\nexit codes: 0 measured, 1 failed (wrong data, lost GPU, a rank that died), 2 wrong use, 3 something could not be measured\n"};

std::size_t vector_bytes(const std::string& size) {
    std::vector<std::size_t> sizes;
    try {
        sizes = parse_sizes(size);
    } catch (const WrongUse&) {
        sizes.clear();  // told below, with this option's name
    }
    if (sizes.size() != 1 || sizes[0] % 4096 != 0)
        throw WrongUse("--bytes needs one size in whole pages of 4 KiB, such as 64MiB, not '" + size + "'");
    return sizes[0];
}

Options table(SaxpyOptions& options) {
    return with_common(
        {{"--binding", "LIST",
          "bindings: default (as the launcher left the ranks), gpu (each rank's CPUs and memory on its GPU's NUMA node), wrong (on the "
          "farthest one); default default,gpu",
          [&options](const std::string& list) { options.bindings = parse_bindings(list); }},
         choice_option<bool>("--device", "host: use host memory instead of GPU memory, for machines without a GPU",
                             options.host_device, {{"gpu", false}, {"host", true}}),
         {"--bytes", "SIZE", "size of each of a rank's two vectors (default 64MiB)",
          [&options](const std::string& size) { options.bytes = vector_bytes(size); }},
         count_option("--iterations", "iterations per round (default 20)", options.iterations, most_iterations),
         count_option("--rounds", "rounds per binding (default: 6 to 31, until the figures are known within 1 %)", options.rounds,
                      most_rounds),
         switch_option("--oversubscribe", "allow more ranks than cores", options.oversubscribe),
         even_if_busy_option(options.even_if_busy),
         seconds_option("--budget", "start no new round after this time (default 20)", options.budget)},
        options);
}

}  // namespace

SaxpyOptions parse_saxpy_options(int argc, char** argv) {
    SaxpyOptions options;
    options.words.assign(argv, argv + argc);
    read_options({options.words.begin() + 1, options.words.end()}, table(options), refuse_word);
    return options;
}

std::string saxpy_help() { return help_of(text, table); }

}  // namespace nearfar
