#include "mpi/contention/contention.h"

#include <mpi.h>

#include <algorithm>

#include "core/clock.h"
#include "core/error.h"
#include "core/fields.h"
#include "core/trouble.h"
#include "mpi/contention/contention_document.h"
#include "mpi/contention/data_mover.h"
#include "mpi/supervised_ranks.h"
#include "node/cpus.h"
#include "node/nic.h"
#include "node/nvml.h"

namespace nearfar {
namespace {

constexpr double settle_seconds = 0.02;
constexpr double warm_up_seconds = 0.05;
constexpr double first_lead = 0.01;
constexpr int most_repeats = 6;
constexpr int clock_readings = 50;
constexpr int clock_tag = 7;

// In the order of the hosts' first ranks.
std::vector<HostRanks> hosts_of(const std::vector<RankPlace>& places) {
    std::vector<HostRanks> hosts;
    for (const RankPlace& place : places) {
        const auto known =
            std::find_if(hosts.begin(), hosts.end(), [&](const HostRanks& host) { return host.name == place.host; });
        if (known == hosts.end())
            hosts.push_back({place.host, {place.rank}});
        else
            known->ranks.push_back(place.rank);
    }
    return hosts;
}

// Throws WrongUse where the launcher bound the ranks: it then left each of them other CPUs than its neighbour's.
void require_unbound(const std::vector<RankPlace>& places, const RankPlace& own) {
    for (const RankPlace& place : places)
        if (place.host == own.host && place.cpus != own.cpus)
            throw WrongUse("the launcher bound the ranks (CPUs " + own.cpus + " here, " + place.cpus + " for rank " +
                           std::to_string(place.rank) +
                           "), and this program binds them itself: mpirun --bind-to none (Open MPI), -bind-to none (MPICH), "
                           "srun --cpu-bind=none");
}

class Contention {
public:
    // `teller`: rank 0's; null on the others, and where nothing is measured.
    Contention(MpiWorld& world, const ContentionOptions& options, const Teller* teller)
        : world_(world), options_(options), teller_(teller) {
        world_.when_waiting([this](const std::string& ranks) { tell_under_way(under_way_ + told::waiting_for + ranks); });
    }
    ~Contention() { world_.when_waiting({}); }
    Contention(const Contention&) = delete;
    Contention& operator=(const Contention&) = delete;

    const ContentionRun& run() const { return run_; }

    // Decides who does what and binds; then allocates and opens what it needs. All ranks throw what one of them throws: WrongUse,
    // Prevented, Failure.
    void set_up(const ProgramRun& program) {
        if (!options_.ask.between.empty()) unbind_thread();  // the node's cores are looked at, not this rank's
        world_.all_do([&] { node_ = read_node(options_.gpus); });
        tell_node(program);
        plan();
        prepare();
    }

    // Rounds until the intervals are narrow, or there were as many as allowed.
    void measure();

    // What is known so far.
    void tell_results() const {
        if (!tells()) return;
        if (!options_.json) return teller_->results({contention_table(run_)});
        teller_->results(contention_items(run_, options_.window));
        teller_->member("contention", contention_json(run_, world_));
    }

private:
    MpiWorld& world_;
    const ContentionOptions& options_;
    const Teller* teller_;
    bool is_told_of_ = false;  // the teller knows the node
    Node node_;
    ContentionRun run_;
    std::string under_way_ = "set-up";
    std::size_t round_ = 0;
    RankRole role_;
    std::map<Layout, RankCpus> cpus_;
    double lead_ = first_lead;
    DataMovers movers_;
    std::map<Layout, std::unique_ptr<MessageLink>> links_;  // memory of its own, near its CPUs

    bool tells() const { return teller_ != nullptr && is_told_of_; }
    void tell_under_way(const std::string& what) const {
        if (tells()) teller_->under_way(round_, 0, options_.hang_seconds, what);
    }
    void tell_node(ProgramRun program);
    void plan();
    void prepare();
    void arrange_pairs();
    void arrange(int movers);
    void place(Layout layout);
    const std::vector<std::vector<int>>& moving_cpus() const { return cpus_.begin()->second.moving; }
    std::vector<int> bind_main(Layout layout) const;
    void compare_clocks();
    std::vector<RankSeen> run_phase(const PhaseKind& kind, double length);
    std::vector<RankSeen> take_part(const PhaseKind& kind, double length);
    std::string words_of(const PhaseKind& kind) const;
    void begin(const std::string& what) { tell_under_way(under_way_ = what); }
    bool is_enough() const;
};

void Contention::tell_node(ProgramRun program) {
    if (teller_ == nullptr) return;
    program.mpi = MpiWorld::library();
    const Nvml nvml;
    program.driver = nvml.driver_version();
    std::vector<DocumentGpu> gpus;
    for (const PciGpu& gpu : node_.gpus) gpus.push_back({gpu, nvml.gpu(gpu.pci), true});
    teller_->node(program, node_, gpus);
    teller_->gpus(node_.gpus);
    MpiFacts facts{program.mpi, {}};
    for (const RankPlace& place : world_.places()) facts.ranks.push_back({place.rank, place.host, place.pid, place.cpus, {}, {}});
    teller_->mpi(facts);
    is_told_of_ = true;
    tell_under_way(under_way_);
}

void Contention::plan() {
    run_.hosts = hosts_of(world_.places());
    run_.offsets.resize(run_.hosts.size());
    run_.traffics = options_.traffics;
    run_.with = options_.ask.with;
    run_.between = !options_.ask.between.empty();
    run_.oversubscribed = options_.ask.oversubscribe;
    const ContentionAsk& ask = options_.ask;
    int movers = 0;
    const std::vector<Message> wished = world_.all_tell([&]() -> Message {
        if (!run_.between) require_unbound(world_.places(), world_.own_place());
        movers = ask.with == With::nothing ? 0 : ask.tasks > 0 ? ask.tasks : usual_movers(node_, ask.with);
        for (int mover = 0; mover < movers; ++mover) run_.cells.push_back(mover_cell(node_, ask, mover));
        return {"movers", {std::to_string(movers)}};
    });
    const std::string agreed = wished.front().field(0);
    world_.all_do([&] {
        if (agreed != std::to_string(movers))
            throw WrongUse("it would move data by " + std::to_string(movers) + " ranks, rank 0's host by " + agreed +
                           ": say --tasks");
        if (run_.between) run_.arrangements = arrangements_of_pairs(run_.hosts, ask.between);  // what it throws says more
        run_.roles = roles_of(run_.hosts, ask.layouts.front(), movers);
        role_ = run_.roles[static_cast<std::size_t>(world_.rank())];
    });
    if (run_.between)
        arrange_pairs();
    else
        arrange(movers);
}

// Each pair between its NUMA nodes.
void Contention::arrange_pairs() {
    world_.all_do([&] {
        cpus_[Layout::apart].mpi = {cpus_of_pairs(node_, options_.ask.between)[static_cast<std::size_t>(world_.rank())]};
    });
}

// Movers and pairs on the CPUs of their layouts.
void Contention::arrange(int movers) {
    std::vector<Layout> layouts = options_.ask.layouts;
    std::string nowhere;  // why threads are not split, where they were to be
    world_.all_do([&] {
        for (const Layout layout : layouts) {
            try {
                place(layout);
            } catch (const Prevented& why) {
                if (layout != Layout::split || why.code != "unsupported" || layouts.size() == 1) throw;
                nowhere = why.what();
            }
        }
    });
    // One host without a place to split to is enough: all leave that layout out.
    for (const Message& why : world_.gather({"nowhere", {nowhere}}))
        if (!why.field(0).empty()) nowhere = why.field(0);
    if (!nowhere.empty()) {
        layouts.erase(std::find(layouts.begin(), layouts.end(), Layout::split));
        cpus_.erase(Layout::split);
        run_.skipped.push_back({"split", "unsupported", nowhere});
    }
    run_.arrangements = arrangements_of(run_.roles, layouts, movers);
}

// This rank's own CPUs in a layout.
void Contention::place(Layout layout) {
    std::vector<RankRole> here;
    for (const int rank : run_.hosts[role_.host].ranks) here.push_back(run_.roles[static_cast<std::size_t>(rank)]);
    const std::optional<int> nic = layout == Layout::split ? nic_node(options_.ask.nic) : std::nullopt;
    cpus_[layout] = place_threads(node_, here, options_.ask, layout, nic)[static_cast<std::size_t>(world_.own_place().on_host)];
}

// A rank without MPI of its own waits on its mover's CPUs, where nobody else is.
std::vector<int> Contention::bind_main(Layout layout) const {
    return bind_thread(role_.communicator ? cpus_.at(layout).mpi : moving_cpus().front());
}

void Contention::prepare() {
    RankTold placed;
    world_.all_do([&] {
        if (role_.mover) {
            const Cell& cell = run_.cells[static_cast<std::size_t>(*role_.mover)];
            movers_ = options_.ask.with == With::gpu ? copy_movers(node_, cell, moving_cpus(), options_.even_if_busy)
                                                     : stream_movers(node_, cell, moving_cpus());
            placed.memory_nodes = movers_.memory_nodes;
            for (const std::vector<int>& cpus : moving_cpus()) placed.flow_cpus.push_back(cpu_list(cpus));
            for (const Mover& mover : movers_.flows) placed.chunks.push_back(mover.work.chunk);
        }
        std::size_t largest = 1;
        for (const Traffic& traffic : options_.traffics) largest = std::max(largest, traffic.bytes);
        for (const auto& [layout, cpus] : cpus_) {
            const std::vector<int> bound = bind_main(layout);
            if (!role_.communicator) continue;
            placed.mpi_cpus[layout] = cpu_list(bound);
            links_[layout] = std::make_unique<MessageLink>(*role_.communicator, largest, options_.window);
            placed.mpi_memory[layout] = links_[layout]->memory_nodes();
        }
    });
    for (const Message& each : world_.gather(message_of("placed", placed))) run_.ranks.push_back(value_in<RankTold>(each));
    compare_clocks();
    for (const PhaseKind& kind : phases_of(run_.arrangements, run_.traffics.size()))
        if ((run_.between || kind.arrangement + cpus_.size() >= run_.arrangements.size()) && kind.beside != Beside::polling) {
            begin("warm-up of " + words_of(kind));
            take_part(kind, warm_up_seconds);
        }
}

// The first rank of each host tells its clock to rank 0, which tells everybody.
void Contention::compare_clocks() {
    for (std::size_t host = 1; host < run_.hosts.size(); ++host) {
        const int leader = run_.hosts[host].ranks.front();
        if (world_.rank() == leader) {
            for (int i = 0; i < clock_readings; ++i) {
                char asked = 0;
                MPI_Recv(&asked, 1, MPI_CHAR, 0, clock_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                const double own_time = now();
                MPI_Send(&own_time, 1, MPI_DOUBLE, 0, clock_tag, MPI_COMM_WORLD);
            }
        }
        if (world_.rank() != 0) continue;
        std::vector<ClockReading> readings;
        for (int i = 0; i < clock_readings; ++i) {
            const char ask = 0;
            ClockReading reading{};
            reading.before = now();
            MPI_Send(&ask, 1, MPI_CHAR, leader, clock_tag, MPI_COMM_WORLD);
            MPI_Recv(&reading.other, 1, MPI_DOUBLE, leader, clock_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            reading.after = now();
            readings.push_back(reading);
        }
        run_.offsets[host] = clock_offset(readings);
    }
    MPI_Bcast(run_.offsets.data(), static_cast<int>(run_.offsets.size() * sizeof(ClockOffset)), MPI_BYTE, 0, MPI_COMM_WORLD);
}

// "per_task, pingpong_8B, beside movers"
std::string Contention::words_of(const PhaseKind& kind) const {
    std::string words = run_.arrangements[kind.arrangement].word;
    if (kind.traffic >= 0) words += ", " + run_.traffics[static_cast<std::size_t>(kind.traffic)].text();
    if (kind.beside == Beside::nothing) return words;
    return words + (kind.traffic < 0 ? ", movers alone" : kind.beside == Beside::moving ? ", beside movers" : ", beside polling");
}

// What every rank saw.
std::vector<RankSeen> Contention::take_part(const PhaseKind& kind, double length) {
    const Arrangement& arranged = run_.arrangements[kind.arrangement];
    const bool moves = kind.beside != Beside::nothing && role_.mover && *role_.mover < arranged.movers;
    const bool talks = kind.traffic >= 0 && role_.communicator && arranged.has_pair(role_.communicator->on_host);
    const Traffic* const traffic = talks ? &run_.traffics[static_cast<std::size_t>(kind.traffic)] : nullptr;
    MessageLink* const link = talks ? links_.at(arranged.layout).get() : nullptr;
    std::unique_ptr<MovingPhase> moving;
    // All hear what one of them could not prepare before anybody waits for it.
    world_.all_do([&] {
        if (moves) moving = std::make_unique<MovingPhase>(movers_.flows, kind.beside == Beside::polling);
        if (!talks) return;
        bind_main(arranged.layout);
        link->prepare(*traffic);
    });
    AgreedWindow window;
    if (world_.rank() == 0) window = agree_window(now(), lead_, settle_seconds, length);
    MPI_Bcast(&window, sizeof window, MPI_BYTE, 0, MPI_COMM_WORLD);
    window = window.on_host(run_.offsets[role_.host].seconds);
    RankSeen seen;
    seen.late = now() > window.start;
    const Message trouble = trouble_of([&] {
        if (moving) moving->begin(window);
        if (!talks) return sleep_until(window.stop);  // not in MPI, which would keep the core busy
        static_cast<MessagesSeen&>(seen) = link->run(*traffic, window);
    });
    std::vector<RankSeen> all;
    const auto finish = [&] {
        throw_trouble(trouble);
        if (moving) seen.moved = moving->finish();
        return message_of("seen", seen);
    };
    for (const Message& message : world_.all_tell(finish)) all.push_back(value_in<RankSeen>(message));
    return all;
}

// The window is repeated while a rank hears of it too late, and twice as long where no message was complete inside.
std::vector<RankSeen> Contention::run_phase(const PhaseKind& kind, double length) {
    bool late = false;
    for (int repeat = 0; repeat < most_repeats; ++repeat) {
        begin(words_of(kind));
        std::vector<RankSeen> all = take_part(kind, length);
        late = std::any_of(all.begin(), all.end(), [](const RankSeen& seen) { return seen.late; });
        const bool empty = std::any_of(all.begin(), all.end(), [](const RankSeen& seen) { return seen.empty; });
        if (!late && !empty) return all;
        if (late) lead_ *= 2;
        if (empty) length *= 2;
    }
    const std::string times = std::to_string(most_repeats) + " times";
    world_.all_do([&] {
        if (late)
            throw Prevented("busy", "a rank heard of the window's start too late, " + times + ": other processes use the cores");
        throw Prevented(
            "budget",
            words_of(kind) + ": no message was complete within a window, " + times +
                ", each twice as long as the one before: other processes use the cores, or --window is too short for such messages");
    });
    return {};
}

bool Contention::is_enough() const {
    const std::vector<ContentionResult> results = contention_results(run_);
    return std::all_of(results.begin(), results.end(), [](const ContentionResult& result) { return result.converged; });
}

void Contention::measure() {
    std::vector<PhaseKind> phases = phases_of(run_.arrangements, run_.traffics.size());
    for (round_ = 0; round_ < options_.most_rounds; ++round_) {
        world_.all_do([&] {
            tell_results();
            if (tells()) teller_->under_way(round_, options_.most_rounds, options_.hang_seconds, "round");
        });
        compare_clocks();
        std::map<PhaseKind, std::vector<RankSeen>> seen;
        for (const PhaseKind& kind : phases) seen[kind] = run_phase(kind, options_.window);
        // The other way round next time: what comes after what then favours nobody.
        std::reverse(phases.begin(), phases.end());
        for (const auto& [kind, ranks] : seen)
            if (world_.rank() == 0) run_.rounds[kind].push_back(ranks);
        if (world_.agree([&] { return is_look(round_ + 1) && is_enough(); })) return;
    }
}

}  // namespace

void measure_contention(MpiWorld& world, const ContentionOptions& options, const ProgramRun& run, const Teller* teller) {
    Contention contention(world, options, options.list ? nullptr : teller);
    const bool made = is_made(teller, {""}, [&] {
        contention.set_up(run);
        if (!options.list) contention.measure();
    });
    if (made && options.list && world.rank() == 0) print_contention_plan(contention.run(), world);
    if (teller == nullptr || options.list) return;
    contention.tell_results();
    for (const NotMeasured& why : contention.run().skipped) teller->skipped(why);
    const std::string wrong = wrong_messages(contention.run());
    if (!wrong.empty()) teller->failed({"", "wrong_data", wrong});
}

}  // namespace nearfar
