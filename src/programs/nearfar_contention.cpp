// nearfar-contention: what MPI and data transfers of a node cost each other.
#include <cstdio>
#include <optional>

#include "core/interrupt.h"
#include "mpi/contention/contention.h"
#include "mpi/contention/contention_document.h"
#include "mpi/contention/contention_pairs.h"
#include "mpi/contention/copy_mover.h"
#include "mpi/mpi_launch.h"
#include "mpi/supervised_ranks.h"
#include "node/cpus.h"
#include "node/nvml.h"
#include "supervisor/account.h"

using namespace nearfar;

namespace {

const char* const name = "nearfar-contention";

// Rank 0 tells what is known so far.
class Report {
public:
    Report(const Teller& teller, const ContentionOptions& options, ProgramRun run, const Node& node, const MpiWorld& world,
           const ContentionState& state)
        : teller_(teller), options_(options), world_(world), state_(state) {
        run.mpi = MpiWorld::library();
        const Nvml nvml;
        run.driver = nvml.driver_version();
        std::vector<DocumentGpu> gpus;
        for (const PciGpu& gpu : node.gpus) gpus.push_back({gpu, nvml.gpu(gpu.pci), true});
        teller_.node(run, node, gpus);
        teller_.gpus(node.gpus);
        MpiFacts facts{run.mpi, {}};
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

private:
    const Teller& teller_;
    const ContentionOptions& options_;
    const MpiWorld& world_;
    const ContentionState& state_;
    std::size_t round_ = 0;
};

// On every rank; `teller`: rank 0's, unless it only lists.
void measure(MpiWorld& world, const ContentionOptions& options, const ProgramRun& run, const Teller* teller) {
    Node node;
    ContentionState state;
    std::optional<Report> report;
    const auto step = [&] {
        if (!options.ask.between.empty()) unbind_thread();  // the node's cores are looked at, not this rank's
        world.all_do([&] { node = read_node(options.gpus); });
        if (teller != nullptr && !options.list) report.emplace(*teller, options, run, node, world, state);
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
    };
    const bool made = is_made(teller, {""}, step);
    if (made && options.list && world.rank() == 0) print_contention_plan(state, world);
    if (!report) return;
    report->tell();
    for (const NotMeasured& why : state.skipped) teller->skipped(why);
    const std::string wrong = wrong_messages(state);
    if (!wrong.empty()) teller->failed({"", "wrong_data", wrong});
}

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
        measure(world, options, {}, &teller);
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
                               [&](MpiWorld& world, const Teller* teller) { measure(world, options, run, teller); });
    });
}
