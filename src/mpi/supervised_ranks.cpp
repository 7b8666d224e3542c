#include "mpi/supervised_ranks.h"

#include <cstdlib>

#include "core/error.h"
#include "core/interrupt.h"
#include "mpi/mpi_launch.h"

namespace nearfar {

int supervise_ranks(const RankProgram& program, const MeasureAsRank& measure) {
    const auto run = [&](const Teller* teller) {
        if (program.before_mpi) program.before_mpi();
        return run_mpi_program(program.run.name, program.argc, program.argv, program.threads, [&](MpiWorld& world) {
            catch_interrupts();  // the process that looks after rank 0 says how the run ended
            measure(world, teller);
            world.when_waiting({});
            if (teller != nullptr) teller->end();
            world.barrier();  // a rank that is gone before rank 0 has told the end counts as dead
            return 0;
        });
    };
    if (!is_first_rank()) {
        catch_interrupts();  // rank 0 looks which rank has died when the launcher ends all of them
        return run(nullptr);
    }
    Supervised how = supervised(program.run, program.options);
    how.collective = true;
    how.missing_ranks = missing_ranks;
    how.with_gpus = program.with_gpus;
    return supervise(how, [&](Teller& teller, const Rest*, double) {
        const int code = run(&teller);
        if (code == exit_wrong_use) std::exit(code);  // which was said
        if (code != 0)
            throw Failure("error", "rank 0 ended with exit code " + std::to_string(code) + ": why stands on standard error");
    });
}

bool is_made(const Teller* teller, const std::vector<std::string>& subjects, const std::function<void()>& step) {
    const auto tell = [&](void (Teller::*report)(const NotMeasured&) const, const std::string& code, const char* reason) {
        for (const std::string& subject : subjects)
            if (teller != nullptr) (teller->*report)({subject, code, reason});
        return false;
    };
    try {
        step();
        return true;
    } catch (const Prevented& why) {
        return tell(&Teller::skipped, why.code, why.what());
    } catch (const Failure& why) {
        return tell(&Teller::failed, why.code, why.what());
    }
}

}  // namespace nearfar
