// nearfar-saxpy: how well the ranks of a node are balanced that transfer, compute and wait for each other, by binding.
#include <sched.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <optional>
#include <thread>

#include "core/clock.h"
#include "core/error.h"
#include "core/interrupt.h"
#include "kernels/saxpy_rank.h"
#include "kernels/saxpy_table.h"
#include "mpi/mpi_launch.h"
#include "mpi/rank_watch.h"
#include "mpi/saxpy_run.h"
#include "node/cpus.h"
#include "output/document.h"
#include "output/last_word.h"
#include "output/program.h"

using namespace nearfar;

namespace {

// Launchers drop what a rank printed and they have not forwarded yet when the run is aborted.
constexpr auto launcher_forwards = std::chrono::milliseconds(300);

// Rank 0's document, whole or cut short.
struct Account {
    const SaxpyOptions& options;
    LastWord& last_word;
    const Node& node;
    ProgramRun run;
    std::vector<DocumentGpu> gpus;
    MpiFacts mpi;
    double begin = now();
    SaxpyProgress progress;
    std::vector<NotMeasured> skipped;  // of the whole run
    std::vector<NotMeasured> failed;

    Session session() {
        const std::lock_guard<std::mutex> lock(progress.mutex);
        Session found;
        found.subjects = saxpy_figures(progress.measured, {options.bytes, options.iterations, options.host_device}, saxpy_target);
        found.skipped = progress.skipped;
        found.skipped.insert(found.skipped.end(), skipped.begin(), skipped.end());
        found.failed = progress.failed;
        found.failed.insert(found.failed.end(), failed.begin(), failed.end());
        found.mpi = mpi;
        return found;
    }

    std::string text(const Session& found) {
        run.seconds = now() - begin;
        return document(run, node, gpus, found);
    }

    // What is to be said if this is the last that rank 0 can say.
    void keep(const std::string& what) {
        if (!options.json) return;
        Session found = session();
        found.failed.push_back(
            {"", "error",
             "rank 0 was ended from outside during " + what + ", as launchers do when another rank has died; they say which"});
        last_word.keep(options.json_file, text(found));
    }

    // Prints and returns the exit code.
    int print() {
        const Session found = session();
        if (options.json) {
            last_word.say(options.json_file, text(found));
        } else {
            std::fputs(saxpy_table(found.subjects).c_str(), stdout);
            print_session(CommandLine(), "", found);
        }
        return exit_code(found);
    }
};

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

int measure(MpiWorld& world, const SaxpyOptions& options, LastWord& last_word) {
    RankHome home;
    home.launcher_cpus = cpus_in_effect();
    home.running_on = sched_getcpu();
    unbind_thread();
    const Node node = read_node(options.gpus);
    Account account{options, last_word, node, {"nearfar-saxpy", options.words, utc_now(), 0, "", ""}, {}, {}, now(), {}, {}, {}};
    for (const PciGpu& gpu : node.gpus) account.gpus.push_back({gpu, {}, false});
    SaxpyRank rank;
    std::unique_ptr<SaxpyDevice> device;
    try {
        const std::vector<Message> identities = world.all_tell([&]() -> Message {
            require_cores(world, node, options);
            rank = options.host_device ? choose_host_rank(node, world.mine().on_host, options)
                                       : choose_gpu_rank(node, world.mine().on_host, ranks_on(world, world.mine().host), options);
            return {"identity", {rank.identity}};
        });
        world.all_do([&] { require_own_devices(identities, world); });
        world.all_do([&] { device = rank.open(); });
    } catch (const Prevented& why) {
        account.skipped.push_back({"", why.code, why.what()});
        return world.rank() == 0 ? account.print() : 0;
    } catch (const Failure& why) {
        account.failed.push_back({"", why.code, why.what()});
        return world.rank() == 0 ? account.print() : 0;
    }
    account.gpus = rank.gpus;
    account.run.driver = rank.driver;
    account.run.cuda = rank.cuda;
    account.mpi = gather_facts(world, rank, home);
    for (const RankFacts& each : account.mpi.ranks)
        if (each.gpu && each.host == node.hostname) account.gpus[static_cast<std::size_t>(*each.gpu)].visible = true;
    std::optional<RankWatch> watch;
    if (world.rank() == 0) {
        catch_interrupts();
        watch.emplace(account.mpi, options.hang_seconds, [&](const EarlyEnd& why) {
            (why.failed ? account.failed : account.skipped).push_back({"", why.code, why.reason});
            std::fprintf(stderr, "%s%s\n", why.code == "hang" ? "hang: " : "nearfar-saxpy: ", why.reason.c_str());
            int code = 1;
            try {
                code = account.print();
            } catch (const WrongUse& error) {
                std::fprintf(stderr, "nearfar-saxpy: %s\n", error.what());
            }
            std::fflush(nullptr);
            std::this_thread::sleep_for(launcher_forwards);
            MpiWorld::abort(code);
        });
    }
    SaxpyRun(world, node, options, home, *device, account.progress, [&](const std::string& what) {
        if (!watch) return;
        watch->progress(what);
        account.keep(what);
    }).run();
    watch.reset();
    const int code = world.rank() == 0 ? account.print() : 0;
    world.barrier();  // nobody leaves while rank 0 still watches
    return code;
}

}  // namespace

int main(int argc, char** argv) {
    LastWord last_word(launched_rank().value_or(0) == 0, print_document);
    return run_mpi_program("nearfar-saxpy", argc, argv, MpiThreads::main_alone, [&](MpiWorld& world) {
        SaxpyOptions options;
        world.all_do([&] { options = parse_saxpy_options(argc, argv); });
        if (options.help || options.version) {
            if (world.rank() == 0 && options.help) std::fputs(saxpy_help, stdout);
            if (world.rank() == 0 && options.version)
                std::printf("nearfar-saxpy %s (%s)\n", NEARFAR_VERSION, MpiWorld::library().c_str());
            return 0;
        }
        return measure(world, options, last_word);
    });
}
