#include "mpi/contention/contention_document.h"

#include <cstdio>

#include "core/clock.h"
#include "output/document.h"
#include "output/table.h"

namespace nearfar {
namespace {

void optional_rate(Json& json, const char* name, const std::optional<Summary>& rate, const char* unit) {
    if (rate) write_rate(json.key(name), *rate, unit);
}

void write_spread(Json& json, const char* name, const Percentiles& spread) {
    json.object(name, [&] {
        json.field("unit", "us").field("p50", spread.p50).field("p95", spread.p95).field("p99", spread.p99);
        json.field("max", spread.max).field("n", spread.n);
    });
}

const RankTold& told_by(const ContentionRun& run, int rank) { return run.ranks[static_cast<std::size_t>(rank)]; }

const std::string& host_of(const ContentionRun& run, int rank) {
    return run.hosts[run.roles[static_cast<std::size_t>(rank)].host].name;
}

const char* layout_name(Layout layout) {
    if (layout == Layout::apart) return "apart";
    return layout == Layout::together ? "together" : "split";
}

// Of one side of a pair, `prefix` before the names. Its memory is left out where the kernel did not say.
void write_side(Json& json, const std::string& prefix, const RankTold& told, Layout layout) {
    json.field(prefix + "cpus", told.mpi_cpus.at(layout));
    const auto memory = told.mpi_memory.find(layout);
    if (memory != told.mpi_memory.end() && !memory->second.empty()) json.field(prefix + "memory_nodes", memory->second);
}

void write_task(Json& json, const ContentionRun& run, const ContentionResult& result, const TaskFigures& task) {
    const char* const unit = result.unit.c_str();
    write_rate(json.field("flow", task.name).key("rate"), task.rate, unit);
    optional_rate(json, "solo", task.solo, unit);
    optional_rate(json, "polled", task.polled, unit);
    optional_rate(json, "penalty", task.penalty, "1");
    if (result.unit == "us") {
        write_spread(json, "percentiles", task.spread);
        if (task.solo_spread) write_spread(json, "solo_percentiles", *task.solo_spread);
    }
    std::vector<std::string> hosts;
    for (const int rank : task.ranks) hosts.push_back(host_of(run, rank));
    json.field("ranks", task.ranks).field("hosts", hosts);
    const RankTold& first = told_by(run, task.ranks[0]);
    if (task.ranks.size() == 2) {
        write_side(json, "", first, result.layout);
        write_side(json, "partner_", told_by(run, task.ranks[1]), result.layout);
    } else {
        json.field("cpus", first.flow_cpus[task.flow]).field("memory_nodes", first.memory_nodes[task.flow]);
        json.field("starved", task.starved);
    }
}

// What each reading of the clock adds to a round trip, which is timed by one.
double clock_reading() {
    constexpr int readings = 1000;
    const double begin = now();
    for (int i = 0; i < readings; ++i) now();
    return (now() - begin) / readings;
}

std::string percent(const std::optional<Summary>& penalty) {
    if (!penalty) return formatted(" %8s", "-");
    return formatted(" %7.1f%% (%.1f to %.1f)", 100 * penalty->median, 100 * penalty->low, 100 * penalty->high);
}

}  // namespace

std::vector<std::string> contention_items(const ContentionRun& run, double window) {
    std::vector<std::string> items;
    for (const ContentionResult& result : contention_results(run)) {
        Json json;
        json.begin_object().field("quantity", result.quantity).field("cell", result.subject);
        json.field("bytes", result.bytes).field("method", "agreed window");
        json.field("converged", result.converged).field("verified", !result.wrong).field("pairs", result.pairs);
        json.field("rounds", run.count_rounds()).field("window_seconds", window);
        json.objects("flows", result.tasks, [&](const TaskFigures& task) { write_task(json, run, result, task); });
        write_rate(json.key("total"), result.total, result.unit.c_str());
        optional_rate(json, "penalty", result.penalty, "1");
        optional_rate(json, "tail_penalty", result.tail_penalty, "1");
        optional_rate(json, "polled_penalty", result.polled_penalty, "1");
        items.push_back(json.end_object().text());
    }
    return items;
}

std::string contention_json(const ContentionRun& run, const MpiWorld& world) {
    Json json;
    json.begin_object().field("threads", world.threads()).field("clock_reading_seconds", clock_reading());
    json.field("oversubscribed", run.oversubscribed);
    json.objects("roles", run.roles, [&](const RankRole& role) {
        json.field("rank", role.rank);
        if (role.communicator) json.field("partner", role.communicator->partner);
        if (role.mover) json.field("moves", run.cells[static_cast<std::size_t>(*role.mover)].text());
        if (static_cast<std::size_t>(role.rank) >= run.ranks.size()) return;
        const RankTold& told = told_by(run, role.rank);
        if (role.communicator)
            json.object("mpi_cpus", [&] {
                for (const auto& [layout, cpus] : told.mpi_cpus) json.field(layout_name(layout), cpus);
            });
        if (role.mover) json.field("mover_cpus", told.flow_cpus);
    });
    std::size_t host = 0;
    json.objects("clocks", run.offsets, [&](const ClockOffset& offset) {
        json.field("host", run.hosts[host++].name);
        json.field("offset_seconds", offset.seconds).field("uncertainty_seconds", offset.uncertainty);
    });
    return json.end_object().text();
}

std::string contention_table(const ContentionRun& run) {
    const std::vector<ContentionResult> results = contention_results(run);
    if (results.empty()) return "";
    std::string lines = formatted("%-26s %-42s %-4s %10s %10s %s\n", "quantity", "subject", "unit", "alone", "together",
                                  "  penalty (interval); of the 99th percentile; beside polling");
    for (const ContentionResult& result : results) {
        const double alone = result.penalty && !result.tasks.empty() && result.tasks[0].solo ? [&] {
            double sum = 0;
            for (const TaskFigures& task : result.tasks) sum += task.solo->median;
            return result.unit == "us" ? sum / static_cast<double>(result.tasks.size()) : sum;
        }() : result.total.median;
        lines +=
            formatted("%-26s %-42s %-4s %10.3f ", result.quantity.c_str(), result.subject.c_str(), result.unit.c_str(), alone);
        if (result.penalty) {
            lines += formatted("%10.3f", result.total.median) + percent(result.penalty) + percent(result.tail_penalty) +
                     percent(result.polled_penalty);
        } else if (result.unit == "us") {
            const Percentiles& spread = result.tasks[0].spread;
            lines += formatted("%10s  p95 %.3f, p99 %.3f, max %.1f", "", spread.p95, spread.p99, spread.max);
        }
        lines += result.converged ? "\n" : "  not converged\n";
    }
    return lines;
}

void print_contention_plan(const ContentionRun& run, const MpiWorld& world) {
    std::printf("%s, %s\n", MpiWorld::library().c_str(), world.threads());
    for (const RankRole& role : run.roles) {
        const RankTold& told = told_by(run, role.rank);
        std::printf("rank %d on %s:", role.rank, host_of(run, role.rank).c_str());
        if (role.mover) {
            const Cell& cell = run.cells[static_cast<std::size_t>(*role.mover)];
            for (std::size_t flow = 0; flow < cell.flows.size(); ++flow)
                std::printf(" %s on CPU %s;", cell.flows[flow].text().c_str(), told.flow_cpus[flow].c_str());
        }
        for (const auto& [layout, cpus] : told.mpi_cpus)
            std::printf(" MPI with rank %d on CPU %s (%s);", role.communicator->partner, cpus.c_str(), layout_name(layout));
        std::printf("\n");
    }
}

std::string wrong_messages(const ContentionRun& run) {
    for (const ContentionResult& result : contention_results(run))
        if (result.wrong && result.quantity.find("mpi.") != std::string::npos)
            return result.subject + ": messages arrived with wrong data";
    return "";
}

}  // namespace nearfar
