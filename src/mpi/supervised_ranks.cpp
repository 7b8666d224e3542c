#include "mpi/supervised_ranks.h"

#include "core/interrupt.h"
#include "mpi/mpi_launch.h"
#include "mpi/mpi_world.h"

namespace nearfar {

int supervise_ranks(const ProgramRun& program, const CommonOptions& options, double hang_seconds, bool with_gpus,
                    const std::function<int(const Teller*)>& run) {
    if (!is_first_rank()) {
        catch_interrupts();  // rank 0 looks which rank has died when the launcher ends all of them
        return run(nullptr);
    }
    Supervised how = supervised(program, options, hang_seconds);
    how.collective = true;
    how.missing_ranks = missing_ranks;
    how.with_gpus = with_gpus;
    return supervise(how, [&](Teller& teller, const Rest*, double) { require_told(run(&teller)); });
}

}  // namespace nearfar
