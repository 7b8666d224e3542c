#include "mpi/contention/contention.h"

#include <mpi.h>

#include <algorithm>

#include "core/clock.h"
#include "core/error.h"
#include "core/fields.h"
#include "core/trouble.h"
#include "mpi/contention/contention_pairs.h"
#include "mpi/contention/copy_mover.h"
#include "mpi/contention/stream_mover.h"
#include "node/cpus.h"
#include "node/nic.h"
#include "supervisor/teller.h"

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
void require_unbound(const std::vector<RankPlace>& places, const RankPlace& mine) {
    for (const RankPlace& place : places)
        if (place.host == mine.host && place.cpus != mine.cpus)
            throw WrongUse("the launcher bound the ranks (CPUs " + mine.cpus + " here, " + place.cpus + " for rank " +
                           std::to_string(place.rank) +
                           "), and this program binds them itself: mpirun --bind-to none (Open MPI), -bind-to none (MPICH), "
                           "srun --cpu-bind=none");
}

}  // namespace

Contention::Contention(MpiWorld& world, const ContentionOptions& options, const Node& node, ContentionState& state,
                       Progress progress, RoundBegins round_begins)
    : world_(world), options_(options), node_(node), state_(state), progress_(std::move(progress)),
      round_begins_(std::move(round_begins)), lead_(first_lead) {
    world_.when_waiting([this](const std::string& ranks) { progress_(under_way_ + told::waiting_for + ranks); });
}

Contention::~Contention() { world_.when_waiting({}); }

void Contention::begin(const std::string& what) {
    under_way_ = what;
    progress_(what);
}

void Contention::plan() {
    const std::vector<HostRanks> hosts = hosts_of(world_.places());
    const ContentionAsk& ask = options_.ask;
    int movers = 0;
    const std::vector<Message> wished = world_.all_tell([&]() -> Message {
        if (ask.between.empty()) require_unbound(world_.places(), world_.mine());
        movers = ask.with == With::nothing ? 0 : ask.tasks > 0 ? ask.tasks : usual_movers(node_, ask.with);
        for (int mover = 0; mover < movers; ++mover) run_.cells.push_back(mover_cell(node_, ask, mover));
        return {"movers", {std::to_string(movers)}};
    });
    const std::string agreed = wished.front().field(0);
    world_.all_do([&] {
        if (agreed != std::to_string(movers))
            throw WrongUse("it would move data by " + std::to_string(movers) + " ranks, rank 0's host by " + agreed +
                           ": say --tasks");
        if (!ask.between.empty()) arrangements_of_pairs(hosts, ask.between);  // what it throws says more of these ranks
        run_.roles = roles_of(hosts, ask.layouts.front(), movers);
        role_ = run_.roles[static_cast<std::size_t>(world_.rank())];
    });
    run_.traffics = options_.traffics;
    run_.within = hosts.size() == 1;
    run_.with = ask.with;
    for (const HostRanks& host : hosts) leaders_.push_back(host.ranks.front());
    offsets_.resize(hosts.size());
    std::string nowhere;
    if (ask.between.empty())
        nowhere = arrange(hosts, movers);
    else
        arrange_pairs(hosts);
    state_.run = run_;
    state_.oversubscribed = ask.oversubscribe;
    for (const HostRanks& host : hosts) state_.hosts.push_back(host.name);
    state_.offsets = offsets_;
    if (!nowhere.empty()) state_.skipped.push_back({"split", "unsupported", nowhere});
}

// Each pair between its NUMA nodes.
void Contention::arrange_pairs(const std::vector<HostRanks>& hosts) {
    const std::vector<NumaPair>& between = options_.ask.between;
    run_.between = true;
    world_.all_do([&] {
        run_.arrangements = arrangements_of_pairs(hosts, between);
        cpus_[Layout::apart].mpi = {cpus_of_pairs(node_, between)[static_cast<std::size_t>(world_.rank())]};
    });
}

// Movers and pairs on the CPUs of their layouts. What is returned is why threads are not split, where they were to be.
std::string Contention::arrange(const std::vector<HostRanks>& hosts, int movers) {
    const ContentionAsk& ask = options_.ask;
    std::vector<Layout> layouts = ask.layouts;
    std::string nowhere;
    world_.all_do([&] {
        for (const Layout layout : layouts) {
            try {
                place(hosts, layout);
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
    }
    run_.arrangements = arrangements_of(run_.roles, layouts, movers);
    return nowhere;
}

// This rank's own CPUs in a layout.
void Contention::place(const std::vector<HostRanks>& hosts, Layout layout) {
    std::vector<RankRole> here;
    for (const int rank : hosts[role_.host].ranks) here.push_back(run_.roles[static_cast<std::size_t>(rank)]);
    const std::optional<int> nic = layout == Layout::split ? nic_node(options_.ask.nic) : std::nullopt;
    cpus_[layout] = place_threads(node_, here, options_.ask, layout, nic)[static_cast<std::size_t>(world_.mine().on_host)];
}

// A rank without MPI of its own waits on its mover's CPUs, where nobody else is.
std::vector<int> Contention::bind_main(Layout layout) const {
    return bind_thread(role_.communicator ? cpus_.at(layout).mpi : moving_cpus().front());
}

void Contention::set_up() {
    world_.all_do([&] {
        if (role_.mover) {
            const Cell& cell = run_.cells[static_cast<std::size_t>(*role_.mover)];
            if (options_.ask.with == With::gpu)
                mover_ = make_copy_mover(node_, cell, moving_cpus(), options_.even_if_busy);
            else
                mover_ = std::make_unique<StreamMover>(node_, cell);
        }
        std::size_t largest = 1;
        for (const Traffic& traffic : options_.traffics) largest = std::max(largest, traffic.bytes);
        for (const auto& [layout, cpus] : cpus_) {
            const std::vector<int> bound = bind_main(layout);
            if (!role_.communicator) continue;
            told_.mpi_cpus[layout] = cpu_list(bound);
            links_[layout] = std::make_unique<MessageLink>(*role_.communicator, largest, options_.window);
            told_.mpi_memory[layout] = links_[layout]->memory_nodes();
        }
    });
    tell_ranks();
    compare_clocks();
    for (const PhaseKind& kind : phases_of(run_.arrangements, run_.traffics.size()))
        if ((run_.between || kind.arrangement + cpus_.size() >= run_.arrangements.size()) && kind.beside != Beside::polling) {
            begin("warm-up of " + words_of(kind));
            take_part(kind, warm_up_seconds);
        }
}

void Contention::tell_ranks() {
    for (std::size_t flow = 0; mover_ && flow < moving_cpus().size(); ++flow) {
        told_.flow_cpus.push_back(cpu_list(moving_cpus()[flow]));
        told_.chunks.push_back(mover_->chunk(flow));
        told_.memory_nodes.push_back(mover_->memory_nodes(flow));
    }
    for (const Message& told : world_.gather(message_of("placed", told_))) state_.ranks.push_back(value_in<RankTold>(told));
    state_.run.chunks = state_.ranks[0].chunks;
}

// The first rank of each host tells its clock to rank 0, which tells everybody.
void Contention::compare_clocks() {
    for (std::size_t host = 1; host < leaders_.size(); ++host) {
        const int leader = leaders_[host];
        if (world_.rank() == leader) {
            for (int i = 0; i < clock_readings; ++i) {
                char asked = 0;
                MPI_Recv(&asked, 1, MPI_CHAR, 0, clock_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                const double mine = now();
                MPI_Send(&mine, 1, MPI_DOUBLE, 0, clock_tag, MPI_COMM_WORLD);
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
        offsets_[host] = clock_offset(readings);
    }
    MPI_Bcast(offsets_.data(), static_cast<int>(offsets_.size() * sizeof(ClockOffset)), MPI_BYTE, 0, MPI_COMM_WORLD);
    state_.offsets = offsets_;
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
        if (moves) moving = std::make_unique<MovingPhase>(*mover_, moving_cpus(), kind.beside == Beside::polling);
        if (!talks) return;
        bind_main(arranged.layout);
        link->prepare(*traffic);
    });
    AgreedWindow window;
    if (world_.rank() == 0) window = agree_window(now(), lead_, settle_seconds, length);
    MPI_Bcast(&window, sizeof window, MPI_BYTE, 0, MPI_COMM_WORLD);
    window = window.on_host(offsets_[role_.host].seconds);
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
        const std::vector<MovedFlow> flows = moving ? moving->finish() : std::vector<MovedFlow>();
        for (std::size_t i = 0; i < std::min(flows.size(), most_flows); ++i) {
            seen.moved[i] = flows[i].rate;
            seen.starved[i] = flows[i].starved;
        }
        return message_of("seen", seen);
    };
    for (const Message& told : world_.all_tell(finish)) all.push_back(value_in<RankSeen>(told));
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
    const std::vector<ContentionResult> results = contention_results(run_, state_.rounds);
    return std::all_of(results.begin(), results.end(), [](const ContentionResult& result) { return result.converged; });
}

void Contention::measure() {
    std::vector<PhaseKind> phases = phases_of(run_.arrangements, run_.traffics.size());
    for (std::size_t round = 0; round < options_.most_rounds; ++round) {
        world_.all_do([&] {
            if (world_.rank() == 0) round_begins_(round);
        });
        compare_clocks();
        std::map<PhaseKind, std::vector<RankSeen>> seen;
        for (const PhaseKind& kind : phases) seen[kind] = run_phase(kind, options_.window);
        // The other way round next time: what comes after what then favours nobody.
        std::reverse(phases.begin(), phases.end());
        const auto look = [&]() -> Message {
            if (world_.rank() != 0) return {};
            for (const auto& [kind, ranks] : seen) state_.rounds[kind].push_back(ranks);
            ++state_.complete;
            return {std::find(looks.begin(), looks.end(), state_.complete) != looks.end() && is_enough() ? "enough" : "more", {}};
        };
        if (world_.all_tell(look).front().word == "enough") return;
    }
}

}  // namespace nearfar
