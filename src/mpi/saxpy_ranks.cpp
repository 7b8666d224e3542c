#include "mpi/saxpy_ranks.h"

#include <sched.h>

#include "core/error.h"
#include "core/interrupt.h"
#include "kernels/level_one/placed_kernel.h"
#include "kernels/saxpy/saxpy_table.h"
#include "mpi/rank_facts.h"
#include "mpi/saxpy_run.h"
#include "mpi/supervised_ranks.h"
#include "node/cpus.h"
#include "output/document.h"

namespace nearfar {
namespace {

const char* const name = "nearfar-kernels";

// What has been measured so far, on rank 0.
std::vector<SubjectResult> figures(SaxpyProgress& progress, const SaxpyOptions& options) {
    return saxpy_figures(progress.measured, {options.bytes, options.iterations, options.host_device}, saxpy_target);
}

void tell(const Teller& teller, const std::vector<SubjectResult>& found) {
    std::vector<std::string> items;
    for (const SubjectResult& each : found) items.push_back(result_json(each));
    teller.results(teller.json() ? items : std::vector<std::string>{saxpy_table(found)});
}

void end(const Teller& teller, const std::vector<NotMeasured>& skipped, const std::vector<NotMeasured>& failed) {
    for (const NotMeasured& why : skipped) teller.skipped(why);
    for (const NotMeasured& why : failed) teller.failed(why);
    teller.end();
}

// On every rank; `teller`: rank 0's.
int measure(MpiWorld& world, const SaxpyOptions& options, ProgramRun run, const Teller* teller) {
    catch_interrupts();  // the process that looks after rank 0 says how the run ended
    RankHome home;
    home.launcher_cpus = cpus_in_effect();
    home.running_on = sched_getcpu();
    unbind_thread();
    Node node;
    std::unique_ptr<KernelPlaces> places;
    RankDevice device;
    try {
        const std::vector<Message> identities = world.all_tell([&]() -> Message {
            node = read_node(options.gpus);
            if (!options.oversubscribe) require_cores(world, node, "--oversubscribe measures anyway");
            places = options.host_device ? host_places(node) : gpu_places(node, options.even_if_busy, false);
            device = places->of_rank(world.mine().on_host, ranks_on(world, world.mine().host));
            return {"identity", {device.identity}};
        });
        world.all_do([&] { require_own_devices(identities, world); });
        world.all_do([&] { places->reserve({{device.gpu}}, {Saxpy(options.bytes, world.rank()).shape()}); });
    } catch (const Prevented& why) {
        if (teller != nullptr) end(*teller, {{"", why.code, why.what()}}, {});
        return 0;
    } catch (const Failure& why) {
        if (teller != nullptr) end(*teller, {}, {{"", why.code, why.what()}});
        return 0;
    }
    const MpiFacts facts = gather_facts(world, device.gpu, device.numa_node, home);
    if (teller != nullptr) {
        std::vector<DocumentGpu> gpus = places->gpus();
        for (const RankFacts& each : facts.ranks)
            if (each.gpu && each.host == node.hostname) gpus[static_cast<std::size_t>(*each.gpu)].visible = true;
        run.driver = places->driver();
        run.cuda = options.host_device ? "" : cuda_of_kernels();
        teller->node(run, node, gpus);
        teller->gpus(node.gpus);
        teller->mpi(facts);
    }
    SaxpyProgress progress;
    std::string under_way = "set-up";
    if (teller != nullptr)
        world.when_waiting([&](const std::string& ranks) {
            teller->under_way(0, 0, options.hang_seconds, under_way + told::waiting_for + ranks);
        });
    SaxpyRun(world, node, options, home, *places, device, progress, [&](const std::string& what) {
        if (teller == nullptr) return;
        tell(*teller, figures(progress, options));
        under_way = what;
        teller->under_way(0, 0, options.hang_seconds, what);
    }).run();
    world.when_waiting({});
    if (teller != nullptr) {
        tell(*teller, figures(progress, options));
        end(*teller, progress.skipped, progress.failed);
    }
    world.barrier();  // a rank that is gone before rank 0 has told the end counts as dead
    return 0;
}

}  // namespace

int measure_saxpy_ranks(int argc, char** argv, const SaxpyOptions& options) {
    const ProgramRun program{name, options.words, utc_now(), "", "", false, {}};
    const auto run = [&](const Teller* teller) {
        return run_mpi_program(name, argc, argv, MpiThreads::main_alone,
                               [&](MpiWorld& world) { return measure(world, options, program, teller); });
    };
    return supervise_ranks(program, options, options.hang_seconds, !options.host_device, run);
}

}  // namespace nearfar
