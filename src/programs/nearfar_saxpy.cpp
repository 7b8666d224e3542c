// nearfar-saxpy: how well the ranks of a node are balanced that transfer, compute and wait for each other, by binding.
#include <sched.h>

#include <cstdio>
#include <optional>

#include "core/error.h"
#include "core/interrupt.h"
#include "mpi/mpi_launch.h"
#include "mpi/saxpy_run.h"
#include "node/cpus.h"
#include "output/document.h"
#include "saxpy/saxpy_rank.h"
#include "saxpy/saxpy_table.h"
#include "supervisor/supervisor.h"

using namespace nearfar;

namespace {

const char* const name = "nearfar-saxpy";

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

// A field that is empty where there is no number.
std::string field_of(const std::optional<int>& number) { return number ? std::to_string(*number) : ""; }

std::optional<int> number_in(const std::string& field) {
    return field.empty() ? std::nullopt : std::optional<int>(std::stoi(field));
}

// Of all ranks; and how many of this host have their GPU where this one has, and its position among them.
MpiFacts gather_facts(const MpiWorld& world, const SaxpyRank& mine, RankHome& home) {
    home.numa_node = mine.numa_node;
    home.sharers = 0;
    MpiFacts facts;
    facts.library = MpiWorld::library();
    for (const Message& told : world.gather({"home", {field_of(mine.gpu), field_of(mine.numa_node)}})) {
        const RankPlace& place = world.places()[facts.ranks.size()];
        facts.ranks.push_back(
            {place.rank, place.host, place.pid, place.cpus, number_in(told.field(0)), number_in(told.field(1))});
        if (place.host != world.mine().host || facts.ranks.back().numa_node != mine.numa_node) continue;
        if (place.rank < world.rank()) ++home.position;
        ++home.sharers;
    }
    return facts;
}

int ranks_on(const MpiWorld& world, const std::string& host) {
    int count = 0;
    for (const RankPlace& place : world.places()) count += place.host == host ? 1 : 0;
    return count;
}

void require_cores(const MpiWorld& world, const Node& node, const SaxpyOptions& options) {
    const int ranks = ranks_on(world, world.mine().host);
    const int cores = static_cast<int>(node.one_cpu_a_core.size());
    if (ranks > cores && !options.oversubscribe)
        throw WrongUse(std::to_string(ranks) + " ranks on this host may use " + std::to_string(cores) + " core" +
                       (cores == 1 ? "" : "s") +
                       ": ranks that share a core measure the scheduler; --oversubscribe measures anyway");
}

void require_own_devices(const std::vector<Message>& identities, const MpiWorld& world) {
    for (std::size_t a = 0; a < identities.size(); ++a)
        for (std::size_t b = a + 1; b < identities.size(); ++b)
            if (!identities[a].field(0).empty() && identities[a].field(0) == identities[b].field(0) &&
                world.places()[a].host == world.places()[b].host)
                throw WrongUse("ranks " + std::to_string(a) + " and " + std::to_string(b) + " on " + world.places()[a].host +
                               " see the same GPU (" + identities[a].field(0) + ") and no other: start one rank a GPU");
}

// On every rank; `teller`: rank 0's.
int measure(MpiWorld& world, const SaxpyOptions& options, ProgramRun run, const Teller* teller) {
    catch_interrupts();  // the process that looks after rank 0 says how the run ended
    RankHome home;
    home.launcher_cpus = cpus_in_effect();
    home.running_on = sched_getcpu();
    unbind_thread();
    Node node;
    SaxpyRank rank;
    std::unique_ptr<SaxpyDevice> device;
    try {
        const std::vector<Message> identities = world.all_tell([&]() -> Message {
            node = read_node(options.gpus);
            require_cores(world, node, options);
            rank = options.host_device ? choose_host_rank(node, world.mine().on_host, options)
                                       : choose_gpu_rank(node, world.mine().on_host, ranks_on(world, world.mine().host), options);
            return {"identity", {rank.identity}};
        });
        world.all_do([&] { require_own_devices(identities, world); });
        world.all_do([&] { device = rank.open(); });
    } catch (const Prevented& why) {
        if (teller != nullptr) end(*teller, {{"", why.code, why.what()}}, {});
        return 0;
    } catch (const Failure& why) {
        if (teller != nullptr) end(*teller, {}, {{"", why.code, why.what()}});
        return 0;
    }
    const MpiFacts facts = gather_facts(world, rank, home);
    if (teller != nullptr) {
        for (const RankFacts& each : facts.ranks)
            if (each.gpu && each.host == node.hostname) rank.gpus[static_cast<std::size_t>(*each.gpu)].visible = true;
        run.driver = rank.driver;
        run.cuda = rank.cuda;
        teller->node(run, node, rank.gpus);
        teller->gpus(node.gpus);
        teller->mpi(facts);
    }
    SaxpyProgress progress;
    std::string under_way = "set-up";
    if (teller != nullptr)
        world.when_waiting([&](const std::string& ranks) {
            teller->under_way(0, 0, options.hang_seconds, under_way + told::waiting_for + ranks);
        });
    SaxpyRun(world, node, options, home, *device, progress, [&](const std::string& what) {
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

int main(int argc, char** argv) {
    const bool first = launched_rank().value_or(0) == 0;
    return run_program(name, first, [&] {
        const SaxpyOptions options = parse_saxpy_options(argc, argv);
        if (options.help || options.version) {
            if (first && options.help) std::fputs(saxpy_help().c_str(), stdout);
            if (first && options.version) std::printf("%s %s (%s)\n", name, NEARFAR_VERSION, MpiWorld::library().c_str());
            return 0;
        }
        const ProgramRun program{name, options.words, utc_now(), "", "", false, {}};
        const auto run = [&](const Teller* teller) {
            return run_mpi_program(name, argc, argv, MpiThreads::main_alone,
                                   [&](MpiWorld& world) { return measure(world, options, program, teller); });
        };
        if (!first) {
            catch_interrupts();  // rank 0 looks which rank has died when the launcher ends all of them
            return run(nullptr);
        }
        Supervised how = supervised(program, options, options.hang_seconds);
        how.collective = true;
        how.missing_ranks = missing_ranks;
        how.with_gpus = !options.host_device;
        return supervise(how, [&](Teller& teller, const Rest*, double) { require_told(run(&teller)); });
    });
}
