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
    return run_program(name, true, [&] {
        const KernelsOptions options = parse_kernels_options(argc, argv);
        if (options.help) {
            std::fputs(kernels_help().c_str(), stdout);
            return 0;
        }
        if (options.version) {
            const std::string cuda = cuda_of_kernels();
            std::printf("%s %s%s\n", name, NEARFAR_VERSION, cuda.empty() ? "" : (" (CUDA " + cuda + ")").c_str());
            return 0;
        }
        if (options.list) return list_kernels(options);
        if (!options.bindings.empty()) throw WrongUse("--binding is for ranks: start nearfar-kernels by mpirun, one rank a GPU");
        return measure_alone(options);
    });
}
