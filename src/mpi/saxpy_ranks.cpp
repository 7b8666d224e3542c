#include "mpi/saxpy_ranks.h"

#include <optional>

#include "kernels/saxpy/saxpy_table.h"
#include "mpi/saxpy_run.h"
#include "mpi/supervised_ranks.h"
#include "output/document.h"

namespace nearfar {
namespace {

const char* const name = "nearfar-kernels";

// What has been measured so far, on rank 0.
std::vector<SubjectResult> figures(const std::vector<BindingRounds>& measured, const SaxpyOptions& options) {
    return saxpy_figures(measured, {options.bytes, options.iterations, options.host_device}, saxpy_target);
}

void tell(const Teller& teller, const std::vector<SubjectResult>& found) {
    std::vector<std::string> items;
    for (const SubjectResult& each : found) items.push_back(result_json(each));
    teller.results(teller.json() ? items : std::vector<std::string>{saxpy_table(found)});
}

void measure(MpiWorld& world, const SaxpyOptions& options, ProgramRun run, const Teller* teller) {
    std::optional<PlacedRank> rank;
    const auto set_up = [&] {
        rank.emplace(world, PlacesAsked{options.gpus, options.host_device, options.even_if_busy, false, false,
                                        options.oversubscribe, "--oversubscribe measures anyway"});
        world.all_do([&] { rank->places->reserve({{rank->device.gpu}}, {Saxpy(options.bytes, world.rank()).shape()}); });
    };
    if (!is_made(teller, {""}, set_up)) return;
    rank->tell(world, run, teller);
    std::vector<BindingRounds> measured;
    const auto tell_figures = [&] {
        if (teller != nullptr) tell(*teller, figures(measured, options));
    };
    std::string under_way = "set-up";
    if (teller != nullptr)
        world.when_waiting([&](const std::string& ranks) {
            teller->under_way(0, 0, options.hang_seconds, under_way + told::waiting_for + ranks);
        });
    SaxpyRun(world, options, *rank, measured, teller, [&](const std::string& what) {
        tell_figures();
        under_way = what;
        if (teller != nullptr) teller->under_way(0, 0, options.hang_seconds, what);
    }).run();
    tell_figures();
}

}  // namespace

int measure_saxpy_ranks(int argc, char** argv, const SaxpyOptions& options) {
    const ProgramRun run{name, options.words, utc_now(), "", options.host_device ? "" : cuda_of_kernels(), false, {}};
    return supervise_ranks({argc, argv, run, options, !options.host_device},
                           [&](MpiWorld& world, const Teller* teller) { measure(world, options, run, teller); });
}

}  // namespace nearfar
