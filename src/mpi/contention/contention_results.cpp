#include "mpi/contention/contention_results.h"

#include <algorithm>
#include <functional>

namespace nearfar {
namespace {

using Seen = std::vector<RankSeen>;  // by rank
using Pick = std::function<double(const Seen&)>;

const RankSeen& of_rank(const Seen& seen, int rank) { return seen[static_cast<std::size_t>(rank)]; }

const std::vector<Seen>& rounds_of(const ContentionRun& run, const PhaseKind& kind) {
    static const std::vector<Seen> none;
    const auto found = run.rounds.find(kind);
    return found == run.rounds.end() ? none : found->second;
}

std::vector<double> over_rounds(const ContentionRun& run, const PhaseKind& kind, const Pick& pick) {
    std::vector<double> values;
    for (const Seen& seen : rounds_of(run, kind)) values.push_back(pick(seen));
    return values;
}

std::optional<Summary> summary_of(const std::vector<double>& values) {
    return values.empty() ? std::nullopt : std::optional(summarise(values));
}

Percentiles spread_of(const ContentionRun& run, const PhaseKind& kind, int rank) {
    const auto median = [&](double Percentiles::*which) {
        const auto pick = [&](const Seen& seen) { return of_rank(seen, rank).latency.*which; };
        return summary_of(over_rounds(run, kind, pick)).value_or(Summary()).median;
    };
    Percentiles spread{median(&Percentiles::p50), median(&Percentiles::p95), median(&Percentiles::p99), 0, 0};
    for (const Seen& seen : rounds_of(run, kind)) {
        spread.max = std::max(spread.max, of_rank(seen, rank).latency.max);
        spread.n += of_rank(seen, rank).latency.n;
    }
    return spread;
}

std::vector<TaskFigures> pairs_in(const ContentionRun& run, const Arrangement& arrangement) {
    std::vector<TaskFigures> tasks;
    for (const RankRole& role : run.roles) {
        if (!role.communicator || !role.communicator->initiates || !arrangement.has_pair(role.communicator->on_host)) continue;
        const int partner = role.communicator->partner;
        tasks.push_back({"r" + std::to_string(role.rank) + ":r" + std::to_string(partner), {role.rank, partner}});
    }
    return tasks;
}

std::vector<TaskFigures> flows_in(const ContentionRun& run, const Arrangement& arrangement) {
    std::vector<TaskFigures> tasks;
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
    return std::string(run.hosts.size() == 1 ? "within." : "across.") + arrangement.word + "." + std::to_string(count) + "." +
           traffic.text();
}

// The kinds of windows that a result compares; `solo` is the same as `together` where nothing else ran.
struct Compared {
    PhaseKind together;
    std::optional<PhaseKind> solo;
    std::optional<PhaseKind> polled;
};

using PickTask = std::function<double(const Seen&, const TaskFigures&)>;

// Of one arrangement with one traffic, as far as messages and movers have it alike.
ContentionResult result_of(const ContentionRun& run, std::size_t arrangement, int traffic, const std::vector<TaskFigures>& tasks,
                           const Compared& compared, bool is_latency, const PickTask& pick) {
    const Arrangement& arranged = run.arrangements[arrangement];
    ContentionResult result;
    result.subject = subject_of(run, arranged, run.traffics[static_cast<std::size_t>(traffic)]);
    result.unit = is_latency ? "us" : "GB/s";
    result.layout = arranged.layout;
    result.pairs = arranged.pairs;
    const auto lost = [&](const std::optional<PhaseKind>& kind, const Pick& what) -> std::optional<Summary> {
        if (!kind || !compared.solo) return {};
        return penalty_of(over_rounds(run, *kind, what), over_rounds(run, *compared.solo, what), is_latency);
    };
    result.tasks = tasks;
    for (TaskFigures& figures : result.tasks) {
        const Pick of_figures = [&](const Seen& seen) { return pick(seen, figures); };
        figures.rate = summarise(over_rounds(run, compared.together, of_figures));
        if (compared.solo) figures.solo = summary_of(over_rounds(run, *compared.solo, of_figures));
        if (compared.polled) figures.polled = summary_of(over_rounds(run, *compared.polled, of_figures));
        figures.penalty = lost(compared.together, of_figures);
    }
    const Pick all = [&](const Seen& seen) {
        double sum = 0;
        for (const TaskFigures& task : tasks) sum += pick(seen, task);
        return is_latency ? sum / static_cast<double>(tasks.size()) : sum;
    };
    result.total = summarise(over_rounds(run, compared.together, all));
    result.penalty = lost(compared.together, all);
    result.polled_penalty = lost(compared.polled, all);
    const Summary& judged = result.penalty ? *result.penalty : result.total;
    result.converged = is_narrow(judged, result.penalty ? narrow : narrow * result.total.median);
    if (!is_latency || !compared.solo) return result;
    const Pick tail = [&](const Seen& seen) {
        double sum = 0;
        for (const TaskFigures& task : tasks) sum += of_rank(seen, task.ranks[0]).latency.p99;
        return sum;
    };
    result.tail_penalty = lost(compared.together, tail);
    return result;
}

ContentionResult of_messages(const ContentionRun& run, std::size_t arrangement, int which) {
    const Traffic& traffic = run.traffics[static_cast<std::size_t>(which)];
    const bool is_latency = traffic.kind == Traffic::Kind::ping_pong;
    const bool has_movers = run.arrangements[arrangement].movers > 0;
    const PhaseKind solo{arrangement, which, Beside::nothing};
    Compared compared{solo, {}, {}};
    if (has_movers) compared = {{arrangement, which, Beside::moving}, solo, PhaseKind{arrangement, which, Beside::polling}};
    ContentionResult result = result_of(run, arrangement, which, pairs_in(run, run.arrangements[arrangement]), compared,
                                        is_latency, [is_latency](const Seen& seen, const TaskFigures& task) {
                                            const RankSeen& seen_there = of_rank(seen, task.ranks[0]);
                                            return is_latency ? seen_there.latency.p50 : seen_there.rate;
                                        });
    const std::string kind = has_movers ? "contention.mpi." : is_latency ? "mpi.pingpong." : "mpi.stream.";
    result.quantity = kind + (is_latency ? "latency" : "bandwidth");
    result.bytes = traffic.bytes;
    for (TaskFigures& task : result.tasks) {
        if (!is_latency) break;
        task.spread = spread_of(run, compared.together, task.ranks[0]);
        if (compared.solo) task.solo_spread = spread_of(run, *compared.solo, task.ranks[0]);
    }
    for (const Beside beside : {Beside::nothing, Beside::moving, Beside::polling})
        for (const Seen& seen : rounds_of(run, {arrangement, which, beside}))
            for (const RankSeen& rank : seen) result.wrong |= rank.wrong;
    return result;
}

ContentionResult of_movers(const ContentionRun& run, std::size_t arrangement, int which) {
    const PhaseKind together{arrangement, which, Beside::moving};
    ContentionResult result =
        result_of(run, arrangement, which, flows_in(run, run.arrangements[arrangement]),
                  {together, PhaseKind{arrangement, -1, Beside::moving}, {}}, false,
                  [](const Seen& seen, const TaskFigures& task) { return of_rank(seen, task.ranks[0]).moved[task.flow].rate; });
    result.quantity = run.with == With::gpu ? "contention.gpu.bandwidth" : "contention.stream.bandwidth";
    if (!run.ranks.empty() && !run.ranks[0].chunks.empty()) result.bytes = run.ranks[0].chunks.front();  // of the first mover
    for (TaskFigures& task : result.tasks)
        for (const Seen& seen : rounds_of(run, together)) task.starved |= of_rank(seen, task.ranks[0]).moved[task.flow].starved;
    return result;
}

}  // namespace

std::optional<Summary> penalty_of(const std::vector<double>& contended, const std::vector<double>& solo, bool is_latency) {
    std::vector<double> samples;
    for (std::size_t i = 0; i < std::min(contended.size(), solo.size()); ++i)
        if (solo[i] > 0 && (contended[i] > 0 || !is_latency))
            samples.push_back(is_latency ? contended[i] / solo[i] - 1 : 1 - contended[i] / solo[i]);
    return summary_of(samples);
}

bool is_narrow(const Summary& penalty, double half_width) {
    return penalty.n() >= looks.front() && (penalty.high - penalty.low) / 2 <= half_width;
}

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

std::vector<ContentionResult> contention_results(const ContentionRun& run) {
    std::vector<ContentionResult> results;
    for (std::size_t i = 0; i < run.arrangements.size(); ++i) {
        for (int which = 0; which < static_cast<int>(run.traffics.size()); ++which) {
            const bool alone = run.arrangements[i].movers == 0;
            if (rounds_of(run, {i, which, alone ? Beside::nothing : Beside::moving}).empty()) continue;
            results.push_back(of_messages(run, i, which));
            if (!alone) results.push_back(of_movers(run, i, which));
        }
    }
    return results;
}

}  // namespace nearfar
