// nearfar-contention: what MPI and data transfers of a node cost each other.
#include <cstdio>
#include <optional>

#include "core/clock.h"
#include "core/error.h"
#include "core/interrupt.h"
#include "mpi/contention/contention.h"
#include "mpi/contention/contention_document.h"
#include "mpi/contention/contention_pairs.h"
#include "mpi/contention/copy_mover.h"
#include "mpi/mpi_launch.h"
#include "mpi/mpi_world.h"
#include "node/cpus.h"
#include "node/nvml.h"
#include "output/document.h"
#include "supervisor/account.h"
#include "supervisor/supervisor.h"

using namespace nearfar;

namespace {

const char* const name = "nearfar-contention";

// Rank 0 tells what is known so far.
class Report {
public:
    Report(Teller& teller, const ContentionOptions& options, const ProgramRun& run, const Node& node, const MpiWorld& world,
           const ContentionState& state)
        : teller_(teller), options_(options), world_(world), state_(state) {
        ProgramRun whole = run;
        whole.mpi = MpiWorld::library();
        const Nvml nvml;
        whole.driver = nvml.driver_version();
        std::vector<DocumentGpu> gpus;
        for (const PciGpu& gpu : node.gpus) gpus.push_back({gpu, nvml.gpu(gpu.pci), true});
        teller_.node(whole, node, gpus);
        teller_.gpus(node.gpus);
        MpiFacts facts;
        facts.library = whole.mpi;
        for (const RankPlace& place : world.places())
            facts.ranks.push_back({place.rank, place.host, place.pid, place.cpus, {}, {}});
        teller_.mpi(facts);
        under_way("set-up");
    }

    // A round begins: what the rounds before it found stands from now on.
    void round(std::size_t round) {
        tell();
        round_ = round;
        teller_.under_way(round, options_.most_rounds, options_.hang_seconds, "round");
    }

    void under_way(const std::string& what) const { teller_.under_way(round_, 0, options_.hang_seconds, what); }

    void tell() const {
        if (!options_.json) return teller_.results({contention_table(state_)});
        teller_.results(contention_items(state_, options_.window));
        teller_.member("contention", contention_json(state_, world_));
    }

    void end(const std::vector<NotMeasured>& skipped, const std::vector<NotMeasured>& failed) const {
        tell();
        for (const std::vector<NotMeasured>* const all : {&skipped, &state_.skipped})
            for (const NotMeasured& why : *all) teller_.skipped(why);
        for (const NotMeasured& why : failed) teller_.failed(why);
        const std::string wrong = wrong_messages(state_);
        if (!wrong.empty()) teller_.failed({"", "wrong_data", wrong});
        teller_.end();
    }

private:
    Teller& teller_;
    const ContentionOptions& options_;
    const MpiWorld& world_;
    const ContentionState& state_;
    std::size_t round_ = 0;
};

// On every rank; `teller`: rank 0's, unless it only lists.
int measure(MpiWorld& world, const ContentionOptions& options, const ProgramRun& run, Teller* teller) {
    catch_interrupts();  // the process that looks after rank 0 says how the run ended
    Node node;
    ContentionState state;
    std::optional<Report> report;
    std::vector<NotMeasured> skipped;
    std::vector<NotMeasured> failed;
    try {
        if (!options.ask.between.empty()) unbind_thread();  // the node's cores are looked at, not this rank's
        world.all_do([&] { node = read_node(options.gpus); });
        if (teller != nullptr) report.emplace(*teller, options, run, node, world, state);
        Contention contention(
            world, options, node, state,
            [&](const std::string& what) {
                if (report) report->under_way(what);
            },
            [&](std::size_t round) {
                if (report) report->round(round);
            });
        contention.plan();
        contention.set_up();
        if (!options.list) contention.measure();
    } catch (const Prevented& why) {
        skipped.push_back({"", why.code, why.what()});
    } catch (const Failure& why) {
        failed.push_back({"", why.code, why.what()});
    }
    if (report) {
        report->end(skipped, failed);
    } else if (teller != nullptr) {
        for (const NotMeasured& why : skipped) teller->skipped(why);
        for (const NotMeasured& why : failed) teller->failed(why);
        teller->end();
    }
    world.barrier();  // a rank that is gone before rank 0 has told the end counts as dead
    if (world.rank() != 0 || !options.list) return 0;
    if (skipped.empty() && failed.empty()) print_contention_plan(state, world);
    for (const NotMeasured& why : skipped) std::printf("skipped: %s\n", why.reason.c_str());
    for (const NotMeasured& why : failed) std::printf("FAILED: %s\n", why.reason.c_str());
    return exit_code(skipped, failed);
}

}  // namespace

int main(int argc, char** argv) {
    const bool first = launched_rank().value_or(0) == 0;
    return run_program(name, first, [&] {
        const ContentionOptions options = parse_contention_options(argc, argv);
        if (options.help || options.version) {
            const std::string cuda = mover_cuda_version();
            if (first && options.help) std::fputs(contention_help().c_str(), stdout);
            if (first && options.version)
                std::printf("%s %s (%s%s)\n", name, NEARFAR_VERSION, MpiWorld::library().c_str(),
                            cuda.empty() ? "" : (", CUDA " + cuda).c_str());
            return 0;
        }
        const MpiThreads threads = options.ask.layouts.front() == Layout::apart ? MpiThreads::main_alone : MpiThreads::any;
        const ProgramRun program{name, options.words, utc_now(), "", mover_cuda_version(), false, {}};
        const auto run = [&](Teller* teller) {
            bind_before_mpi(options.ask.between, launched_rank().value_or(0));
            return run_mpi_program(name, argc, argv, threads,
                                   [&](MpiWorld& world) { return measure(world, options, program, teller); });
        };
        if (!first) catch_interrupts();  // rank 0 looks which rank has died when the launcher ends all of them
        if (!first || options.list) return run(nullptr);
        Supervised how = supervised(program, options, options.hang_seconds);
        how.collective = true;
        how.missing_ranks = missing_ranks;
        return supervise(how, [&](Teller& teller, const Rest*, double) { require_told(run(&teller)); });
    });
}
