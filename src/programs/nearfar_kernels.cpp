// nearfar-kernels: kernels with their transfers, from the memory of a NUMA node to a GPU and back.
#include <cstdio>

#include "kernels/level_one/kernels_run.h"
#include "kernels/level_one/placed_kernel.h"
#include "mpi/kernel_ranks.h"
#include "supervisor/supervisor.h"

using namespace nearfar;

namespace {

const char* const name = "nearfar-kernels";

int measure_alone(const KernelsOptions& options) {
    const std::string cuda = options.host_device ? "" : cuda_of_kernels();
    Supervised how = supervised({name, options.words, utc_now(), "", cuda, false, {}}, options, options.hang_seconds);
    how.with_gpus = !options.host_device;
    return supervise(how,
                     [&](Teller& teller, const Rest* rest, double gone) { run_kernels(options, how.run, teller, rest, gone); });
}

}  // namespace

int main(int argc, char** argv) {
    const bool first = is_first_rank();
    return run_program(name, first, [&] {
        const KernelsOptions options = parse_kernels_options(argc, argv);
        if (options.help) {
            if (first) std::fputs(kernels_help().c_str(), stdout);
            return 0;
        }
        if (options.version) {
            const std::string cuda = cuda_of_kernels();
            if (first) std::printf("%s %s%s\n", name, NEARFAR_VERSION, cuda.empty() ? "" : (" (CUDA " + cuda + ")").c_str());
            return 0;
        }
        if (options.list) return list_kernels(options);
        return measures_as_rank(options) ? measure_kernel_ranks(argc, argv, options) : measure_alone(options);
    });
}
