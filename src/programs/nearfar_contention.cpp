// nearfar-contention: what MPI and data transfers of a node cost each other.
#include <chrono>
#include <cstdio>
#include <mutex>
#include <optional>
#include <thread>

#include "core/clock.h"
#include "core/error.h"
#include "core/interrupt.h"
#include "mpi/contention.h"
#include "mpi/contention_document.h"
#include "mpi/copy_mover.h"
#include "mpi/mpi_launch.h"
#include "mpi/mpi_world.h"
#include "mpi/rank_watch.h"
#include "node/nvml.h"
#include "output/document.h"
#include "output/last_word.h"
#include "output/program.h"

using namespace nearfar;

namespace {

const char* const name = "nearfar-contention";

// A launcher that ends all ranks because one has died looks at the first exit code: its own way of ending comes first.
constexpr auto launcher_first = std::chrono::milliseconds(100);

// Rank 0's document or table of what is known so far.
class Report {
public:
    Report(const ContentionOptions& options, const Node& node, const MpiWorld& world, ContentionState& state, LastWord& last_word)
        : options_(options), node_(node), world_(world), state_(state), last_word_(last_word) {
        run_ = {name, options.words, utc_now(), 0, "", mover_cuda_version()};
        run_.mpi = MpiWorld::library();
        const Nvml nvml;
        run_.driver = nvml.driver_version();
        for (const PciGpu& gpu : node.gpus) gpus_.push_back({gpu, nvml.gpu(gpu.pci), true});
        facts_.library = MpiWorld::library();
        for (const RankPlace& place : world.places())
            facts_.ranks.push_back({place.rank, place.host, place.pid, place.cpus, {}, {}});
    }

    const MpiFacts& facts() const { return facts_; }

    // Prints; returns the exit code. Once: what ends a run early may come while it ends by itself.
    int print(Session session) {
        const std::lock_guard<std::mutex> once(mutex_);
        if (printed_) return code_;
        printed_ = true;
        const std::lock_guard<std::mutex> lock(state_.mutex);
        session.skipped.insert(session.skipped.end(), state_.skipped.begin(), state_.skipped.end());
        const std::string wrong = wrong_messages(state_);
        if (!wrong.empty()) session.failed.push_back({"", "wrong_data", wrong});
        run_.seconds = now() - begin_;
        end_progress();
        code_ = exit_code(session);
        if (options_.json) {
            last_word_.say(options_.json_file, text(session));
        } else {
            print_contention_table(state_);
            print_session(CommandLine(), "", session);
        }
        return code_;
    }

    // What is to be told where rank 0 is killed from now on.
    void keep_last_word() {
        if (!options_.json) return;
        Session session;
        session.failed.push_back(
            {"", "error",
             "rank 0 (process " + std::to_string(world_.mine().pid) + " on " + world_.mine().host +
                 ") was killed while it was measured: by whoever ended the run, or by the launcher because another rank had died, which it then names"});
        const std::lock_guard<std::mutex> lock(state_.mutex);
        run_.seconds = now() - begin_;
        last_word_.keep(options_.json_file, text(session));
    }

private:
    const ContentionOptions& options_;
    const Node& node_;
    const MpiWorld& world_;
    ContentionState& state_;
    LastWord& last_word_;
    ProgramRun run_;
    MpiFacts facts_;
    std::vector<DocumentGpu> gpus_;
    double begin_ = now();
    std::mutex mutex_;
    bool printed_ = false;
    int code_ = 0;

    std::string text(Session session) const {
        session.mpi = facts_;
        return document(run_, node_, gpus_, session,
                        {[this](Json& json) { write_contention_results(json, state_, options_.window); },
                         [this](Json& json) { write_contention_keys(json, state_, world_); }});
    }
};

[[noreturn]] void end_early(Report& report, const EarlyEnd& why) {
    std::fprintf(stderr, "%s%s\n", why.code == "hang" ? "hang: " : "nearfar-contention: ", why.reason.c_str());
    Session session;
    (why.failed ? session.failed : session.skipped).push_back({"", why.code, why.reason});
    int code = 1;
    try {
        code = report.print(session);
    } catch (const WrongUse& error) {
        std::fprintf(stderr, "%s: %s\n", name, error.what());
    }
    std::fflush(nullptr);
    std::this_thread::sleep_for(launcher_first);
    MpiWorld::abort(code);
}

int measure(MpiWorld& world, const ContentionOptions& options, LastWord& last_word) {
    catch_interrupts();  // on every rank: rank 0 alone says how it ended
    Node node;
    world.all_do([&] {
        if (world.rank() == 0) require_writable(options.json_file);
        node = read_node(options.gpus);
    });
    ContentionState state;
    std::optional<Report> report;
    std::optional<RankWatch> watch;
    if (world.rank() == 0) {
        report.emplace(options, node, world, state, last_word);
        report->keep_last_word();
        watch.emplace(report->facts(), options.hang_seconds, [&](const EarlyEnd& why) { end_early(*report, why); });
    }
    Session session;
    try {
        Contention contention(
            world, options, node, state,
            [&](const std::string& what) {
                if (watch) watch->progress(what);
            },
            [&](std::size_t round) {
                report->keep_last_word();
                print_progress(round, options.most_rounds, "round");
            });
        contention.plan();
        contention.set_up();
        if (!options.list) contention.measure();
    } catch (const Prevented& why) {
        session.skipped.push_back({"", why.code, why.what()});
    } catch (const Failure& why) {
        session.failed.push_back({"", why.code, why.what()});
    }
    watch.reset();
    int code = 0;
    if (world.rank() == 0 && options.list && session.skipped.empty() && session.failed.empty())
        print_contention_plan(state, world);
    else if (world.rank() == 0)
        code = report->print(session);
    world.barrier();  // nobody leaves while rank 0 may still watch
    return code;
}

}  // namespace

int main(int argc, char** argv) {
    const bool first = launched_rank().value_or(0) == 0;
    try {
        const ContentionOptions options = parse_contention_options(argc, argv);
        if (options.help || options.version) {
            const std::string cuda = mover_cuda_version();
            if (first && options.help) std::fputs(contention_help().c_str(), stdout);
            if (first && options.version)
                std::printf("%s %s (%s%s)\n", name, NEARFAR_VERSION, MpiWorld::library().c_str(),
                            cuda.empty() ? "" : (", CUDA " + cuda).c_str());
            return 0;
        }
        LastWord last_word(first && options.json, print_document);
        const MpiThreads threads = options.ask.layouts.front() == Layout::apart ? MpiThreads::main_alone : MpiThreads::any;
        return run_mpi_program(name, argc, argv, threads, [&](MpiWorld& world) { return measure(world, options, last_word); });
    } catch (const WrongUse& error) {
        if (first) std::fprintf(stderr, "%s: %s\n", name, error.what());
        return 2;
    }
}
