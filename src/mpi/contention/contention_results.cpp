#include "mpi/contention/contention_results.h"

#include <algorithm>
#include <functional>

namespace nearfar {
namespace {

using Pick = std::function<double(const std::vector<RankSeen>&)>;

const RankSeen& of_rank(const std::vector<RankSeen>& seen, int rank) { return seen[static_cast<std::size_t>(rank)]; }

// One task of a phase: how its figure is picked from what the ranks saw.
struct Task {
    std::string name;
    std::vector<int> ranks;
    std::size_t flow = 0;
};

std::vector<double> over_rounds(const Rounds& rounds, const PhaseKind& kind, const Pick& pick) {
    std::vector<double> values;
    const auto found = rounds.find(kind);
    if (found == rounds.end()) return values;
    for (const std::vector<RankSeen>& seen : found->second) values.push_back(pick(seen));
    return values;
}

std::optional<Summary> summary_of(const std::vector<double>& values) {
    if (values.empty()) return {};
    return summarise(values);
}

double median_of(const std::vector<double>& values) { return values.empty() ? 0 : summarise(values).median; }

Percentiles spread_of(const Rounds& rounds, const PhaseKind& kind, int rank) {
    const auto over = [&](double Percentiles::*which) {
        return over_rounds(rounds, kind, [&](const std::vector<RankSeen>& seen) { return of_rank(seen, rank).latency.*which; });
    };
    Percentiles spread;
    spread.p50 = median_of(over(&Percentiles::p50));
    spread.p95 = median_of(over(&Percentiles::p95));
    spread.p99 = median_of(over(&Percentiles::p99));
    for (const double longest : over(&Percentiles::max)) spread.max = std::max(spread.max, longest);
    const auto found = rounds.find(kind);
    if (found != rounds.end())
        for (const std::vector<RankSeen>& seen : found->second) spread.n += of_rank(seen, rank).latency.n;
    return spread;
}

bool any(const Rounds& rounds, const PhaseKind& kind, const std::function<bool(const RankSeen&)>& is) {
    const auto found = rounds.find(kind);
    if (found == rounds.end()) return false;
    return std::any_of(found->second.begin(), found->second.end(),
                       [&](const std::vector<RankSeen>& seen) { return std::any_of(seen.begin(), seen.end(), is); });
}

std::vector<Task> pairs_in(const ContentionRun& run, const Arrangement& arrangement) {
    std::vector<Task> tasks;
    for (const RankRole& role : run.roles) {
        if (!role.communicator || !role.communicator->initiates || !arrangement.has_pair(role.communicator->on_host)) continue;
        const int partner = role.communicator->partner;
        tasks.push_back({"r" + std::to_string(role.rank) + ":r" + std::to_string(partner), {role.rank, partner}});
    }
    return tasks;
}

std::vector<Task> flows_in(const ContentionRun& run, const Arrangement& arrangement) {
    std::vector<Task> tasks;
    for (const RankRole& role : run.roles) {
        if (!role.mover || *role.mover >= arrangement.movers) continue;
        const Cell& cell = run.cells[static_cast<std::size_t>(*role.mover)];
        for (std::size_t flow = 0; flow < cell.flows.size(); ++flow)
            tasks.push_back({cell.flows[flow].text(), {role.rank}, flow});
    }
    return tasks;
}

std::string subject_of(const ContentionRun& run, const Arrangement& arrangement, const Traffic& traffic) {
    if (run.between) return arrangement.word + "/" + traffic.text();
    const int count = arrangement.movers == 0 ? arrangement.pairs : arrangement.movers;
    return std::string(run.within ? "within." : "across.") + arrangement.word + "." + std::to_string(count) + "." +
           traffic.text();
}

// The kinds of windows that a result compares; `solo` is the same as `together` where nothing else ran.
struct Compared {
    PhaseKind together;
    std::optional<PhaseKind> solo;
    std::optional<PhaseKind> polled;
};

using PickTask = std::function<double(const std::vector<RankSeen>&, const Task&)>;
using Penalty = std::optional<Summary> (*)(const std::vector<double>&, const std::vector<double>&);

double over_tasks(const std::vector<RankSeen>& seen, const std::vector<Task>& tasks, const PickTask& pick) {
    double sum = 0;
    for (const Task& task : tasks) sum += pick(seen, task);
    return sum;
}

void add_figures(ContentionResult& result, const Rounds& rounds, const std::vector<Task>& tasks, const Compared& compared,
                 const PickTask& pick, Penalty penalty) {
    const auto penalty_of = [&](const std::optional<PhaseKind>& kind, const Pick& what) -> std::optional<Summary> {
        if (!kind || !compared.solo) return {};
        return penalty(over_rounds(rounds, *kind, what), over_rounds(rounds, *compared.solo, what));
    };
    for (const Task& task : tasks) {
        const Pick mine = [&](const std::vector<RankSeen>& seen) { return pick(seen, task); };
        TaskFigures figures;
        figures.name = task.name;
        figures.ranks = task.ranks;
        figures.flow = task.flow;
        figures.rate = summarise(over_rounds(rounds, compared.together, mine));
        if (compared.solo) figures.solo = summary_of(over_rounds(rounds, *compared.solo, mine));
        if (compared.polled) figures.polled = summary_of(over_rounds(rounds, *compared.polled, mine));
        figures.penalty = penalty_of(compared.together, mine);
        result.tasks.push_back(std::move(figures));
    }
    const Pick all = [&](const std::vector<RankSeen>& seen) {
        const double sum = over_tasks(seen, tasks, pick);
        return result.unit == "us" ? sum / static_cast<double>(tasks.size()) : sum;
    };
    result.total = summarise(over_rounds(rounds, compared.together, all));
    result.penalty = penalty_of(compared.together, all);
    result.polled_penalty = penalty_of(compared.polled, all);
    const Summary& judged = result.penalty ? *result.penalty : result.total;
    result.converged = is_narrow(judged, result.penalty ? narrow : narrow * result.total.median);
}

ContentionResult of_messages(const ContentionRun& run, const Rounds& rounds, std::size_t arrangement, std::size_t which) {
    const Arrangement& arranged = run.arrangements[arrangement];
    const Traffic& traffic = run.traffics[which];
    const bool latency = traffic.kind == Traffic::Kind::ping_pong;
    const int index = static_cast<int>(which);
    const PhaseKind solo{arrangement, index, Beside::nothing};
    Compared compared{solo, {}, {}};
    if (arranged.movers > 0)
        compared = {{arrangement, index, Beside::moving}, solo, PhaseKind{arrangement, index, Beside::polling}};
    ContentionResult result;
    const char* const what = latency ? "latency" : "bandwidth";
    result.quantity = arranged.movers > 0 ? std::string("contention.mpi.") + what
                                          : std::string(latency ? "mpi.pingpong." : "mpi.stream.") + what;
    result.subject = subject_of(run, arranged, traffic);
    result.bytes = traffic.bytes;
    result.unit = latency ? "us" : "GB/s";
    result.layout = arranged.layout;
    result.pairs = arranged.pairs;
    const std::vector<Task> tasks = pairs_in(run, arranged);
    add_figures(
        result, rounds, tasks, compared,
        [latency](const std::vector<RankSeen>& seen, const Task& task) {
            const RankSeen& mine = of_rank(seen, task.ranks[0]);
            return latency ? mine.latency.p50 : mine.rate;
        },
        latency ? latency_penalty : bandwidth_penalty);
    if (latency) {
        for (TaskFigures& task : result.tasks) {
            task.spread = spread_of(rounds, compared.together, task.ranks[0]);
            if (compared.solo) task.solo_spread = spread_of(rounds, *compared.solo, task.ranks[0]);
        }
        const Pick tail = [&](const std::vector<RankSeen>& seen) {
            return over_tasks(seen, tasks, [](const std::vector<RankSeen>& all, const Task& task) {
                return of_rank(all, task.ranks[0]).latency.p99;
            });
        };
        if (compared.solo)
            result.tail_penalty =
                latency_penalty(over_rounds(rounds, compared.together, tail), over_rounds(rounds, *compared.solo, tail));
    }
    for (const Beside beside : {Beside::nothing, Beside::moving, Beside::polling})
        result.wrong |= any(rounds, {arrangement, index, beside}, [](const RankSeen& seen) { return seen.wrong; });
    return result;
}

ContentionResult of_movers(const ContentionRun& run, const Rounds& rounds, std::size_t arrangement, std::size_t which) {
    const Arrangement& arranged = run.arrangements[arrangement];
    ContentionResult result;
    result.quantity = run.with == With::gpu ? "contention.gpu.bandwidth" : "contention.stream.bandwidth";
    result.subject = subject_of(run, arranged, run.traffics[which]);
    result.bytes = run.chunks.empty() ? 0 : run.chunks.front();
    result.unit = "GB/s";
    result.layout = arranged.layout;
    result.pairs = arranged.pairs;
    const PhaseKind together{arrangement, static_cast<int>(which), Beside::moving};
    const std::vector<Task> tasks = flows_in(run, arranged);
    add_figures(
        result, rounds, tasks, {together, PhaseKind{arrangement, -1, Beside::moving}, {}},
        [](const std::vector<RankSeen>& seen, const Task& task) { return of_rank(seen, task.ranks[0]).moved[task.flow]; },
        bandwidth_penalty);
    for (std::size_t i = 0; i < tasks.size(); ++i)
        for (const std::vector<RankSeen>& seen : rounds.at(together))
            result.tasks[i].starved |= of_rank(seen, tasks[i].ranks[0]).starved[tasks[i].flow];
    return result;
}

}  // namespace

std::vector<PhaseKind> phases_of(const std::vector<Arrangement>& arrangements, std::size_t traffics) {
    std::vector<PhaseKind> phases;
    for (std::size_t i = 0; i < arrangements.size(); ++i) {
        if (arrangements[i].movers > 0) phases.push_back({i, -1, Beside::moving});
        for (int traffic = 0; traffic < static_cast<int>(traffics); ++traffic) {
            phases.push_back({i, traffic, Beside::nothing});
            if (arrangements[i].movers == 0) continue;
            phases.push_back({i, traffic, Beside::moving});
            phases.push_back({i, traffic, Beside::polling});
        }
    }
    return phases;
}

std::vector<ContentionResult> contention_results(const ContentionRun& run, const Rounds& rounds) {
    std::vector<ContentionResult> results;
    for (std::size_t i = 0; i < run.arrangements.size(); ++i) {
        for (std::size_t which = 0; which < run.traffics.size(); ++which) {
            const bool alone = run.arrangements[i].movers == 0;
            const auto found = rounds.find({i, static_cast<int>(which), alone ? Beside::nothing : Beside::moving});
            if (found == rounds.end() || found->second.empty()) continue;
            results.push_back(of_messages(run, rounds, i, which));
            if (!alone) results.push_back(of_movers(run, rounds, i, which));
        }
    }
    return results;
}

}  // namespace nearfar
