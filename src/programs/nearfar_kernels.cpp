// nearfar-kernels: kernels with their transfers, from the memory of a NUMA node to a GPU and back; by `saxpy`, how well ranks are balanced.
#include <cstdio>
#include <string>

#include "kernels/level_one/kernels_bench.h"
#include "kernels/level_one/placed_kernel.h"
#include "mpi/kernel_ranks.h"
#include "mpi/mpi_launch.h"
#include "supervisor/supervisor.h"

using namespace nearfar;

namespace {

const char* const name = "nearfar-kernels";

void say(const std::string& text) { std::fputs(text.c_str(), stdout); }

std::string version() {
    const std::string cuda = cuda_of_kernels();
    return std::string(name) + " " + NEARFAR_VERSION + (cuda.empty() ? "" : " (CUDA " + cuda + ")") + "\n";
}

int measure_alone(const KernelsOptions& options) {
    const std::string cuda = options.host_device ? "" : cuda_of_kernels();
    Supervised how = supervised({name, options.words, utc_now(), "", cuda, false, {}}, options);
    how.with_gpus = !options.host_device;
    return supervise(how, [&](Teller& teller, const Rest* rest, double gone) {
        if (options.sustain > 0)
            run_sustained(options, how.run, teller, rest);
        else
            run_kernels(options, how.run, teller, rest, gone);
    });
}

}  // namespace

int main(int argc, char** argv) {
    const bool first = is_first_rank();
    return run_program(name, first, [&] {
        // A word of its own, with options of its own.
        if (argc > 1 && std::string(argv[1]) == saxpy_word) {
            const SaxpyOptions options = parse_saxpy_options(argc, argv);
            if (options.help || options.version) {
                if (first) say(options.version ? version() : saxpy_help());
                return 0;
            }
            return measure_saxpy_ranks(argc, argv, options);
        }
        const KernelsOptions options = parse_kernels_options(argc, argv);
        if (options.help || options.version) {
            if (first) say(options.help ? kernels_help() : version());
            return 0;
        }
        if (options.sustain > 0 && measures_as_rank(options))
            throw WrongUse("--sustain loads all GPUs from one process: start it without mpirun and --binding");
        if (options.list) return list_kernels(options);
        return measures_as_rank(options) ? measure_kernel_ranks(argc, argv, options) : measure_alone(options);
    });
}
