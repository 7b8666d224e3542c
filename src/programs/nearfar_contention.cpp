// nearfar-contention: what MPI and data transfers of a node cost each other.
#include <cstdio>

#include "core/interrupt.h"
#include "mpi/contention/contention.h"
#include "mpi/contention/data_mover.h"
#include "mpi/mpi_launch.h"
#include "mpi/supervised_ranks.h"
#include "supervisor/account.h"

using namespace nearfar;

namespace {

const char* const name = "nearfar-contention";

// Says who would run where. Returns the exit code.
int list(int argc, char** argv, MpiThreads threads, const ContentionOptions& options) {
    bind_before_mpi(options.ask.between, launched_rank().value_or(0));
    Account account({}, false);
    const auto say = [&](const Message& why) {
        account.take(why);
        if (is_first_rank()) std::printf("%s: %s\n", why.word == told::skipped ? "skipped" : "FAILED", why.field(2).c_str());
    };
    const Teller teller(say, false);
    return run_mpi_program(name, argc, argv, threads, [&](MpiWorld& world) {
        catch_interrupts();
        measure_contention(world, options, {}, &teller);
        world.barrier();
        return account.exit_code();
    });
}

}  // namespace

int main(int argc, char** argv) {
    const bool first = is_first_rank();
    return run_program(name, first, [&] {
        const ContentionOptions options = parse_contention_options(argc, argv);
        const std::string cuda = mover_cuda_version();
        if (options.help || options.version) {
            if (first && options.help) std::fputs(contention_help().c_str(), stdout);
            if (first && options.version)
                std::printf("%s %s (%s%s)\n", name, NEARFAR_VERSION, MpiWorld::library().c_str(),
                            cuda.empty() ? "" : (", CUDA " + cuda).c_str());
            return 0;
        }
        const MpiThreads threads = options.ask.layouts.front() == Layout::apart ? MpiThreads::main_alone : MpiThreads::any;
        if (options.list) return list(argc, argv, threads, options);
        const ProgramRun run{name, options.words, utc_now(), "", cuda, false, {}};
        const auto bind = [&] { bind_before_mpi(options.ask.between, launched_rank().value_or(0)); };
        return supervise_ranks({argc, argv, run, options, !cuda.empty(), threads, bind},
                               [&](MpiWorld& world, const Teller* teller) { measure_contention(world, options, run, teller); });
    });
}
