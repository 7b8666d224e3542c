#include "kernels/saxpy/saxpy_figures.h"

#include <algorithm>
#include <functional>

#include "output/table.h"

namespace nearfar {
namespace {

constexpr const char* all_ranks = "ranks";
constexpr const char* row = "%-38s %-14s %9.3f  %9.3f – %-9.3f %3zu  %s%s\n";
constexpr double milli = 1e3;
constexpr double giga = 1e9;

using Round = std::vector<RankRound>;  // by rank
using Value = std::function<double(const Round&)>;
using ValueOfRank = std::function<double(const Round&, std::size_t rank)>;

double mean_of(const Round& round, const std::function<double(const RankRound&)>& part) {
    double sum = 0;
    for (const RankRound& rank : round) sum += part(rank);
    return sum / static_cast<double>(round.size());
}

// The longest elapsed time of a rank.
double run_time(const Round& round) {
    const auto is_shorter = [](const RankRound& a, const RankRound& b) { return a.elapsed < b.elapsed; };
    return std::max_element(round.begin(), round.end(), is_shorter)->elapsed;
}

std::vector<double> over_rounds(const BindingRounds& measured, const Value& value) {
    std::vector<double> samples;
    for (const Round& round : measured.rounds) samples.push_back(value(round));
    return samples;
}

CellResult result_of(const BindingRounds& measured, const SaxpyShape& shape, bool converged, const std::string& what,
                     const char* unit, std::size_t bytes = 0) {
    CellResult result;
    result.quantity = (shape.host_device ? "saxpy.host." : "saxpy.") + what;
    result.unit = unit;
    result.subject = saxpy_subject(measured.binding);
    result.bytes = bytes;
    result.converged = converged;
    // Each rank looks at its whole y, in which an iteration that was left out would show for ever.
    result.verified = Verified{measured.rounds[0].size() * shape.bytes, 0, 0};
    return result;
}

void add_binding(const BindingRounds& measured, const SaxpyShape& shape, double target, std::vector<CellResult>& into) {
    const bool converged = is_settled(measured, target);
    const auto of_all = [&](const char* what, const char* unit, const Value& value) {
        into.push_back(result_of(measured, shape, converged, what, unit));
        into.back().flows.push_back(part_result(all_ranks, summarise(over_rounds(measured, value))));
    };
    const auto of_ranks = [&](const char* what, const char* unit, std::size_t bytes, const ValueOfRank& value) {
        into.push_back(result_of(measured, shape, converged, what, unit, bytes));
        for (std::size_t rank = 0; rank < measured.cpus.size(); ++rank) {
            const auto of_rank = [&](const Round& round) { return value(round, rank); };
            into.back().flows.push_back(part_result("rank" + std::to_string(rank), summarise(over_rounds(measured, of_rank)),
                                                    measured.cpus[rank], measured.memory_nodes[rank]));
        }
    };
    const auto times = [&](const char* what, double RankRound::*step) {
        of_ranks(what, "ms", 0,
                 [&](const Round& round, std::size_t rank) { return round[rank].*step / shape.iterations * milli; });
    };
    const auto rates = [&](const char* what, std::size_t bytes, double RankRound::*step) {
        of_ranks(what, "GB/s", bytes, [&](const Round& round, std::size_t rank) {
            return static_cast<double>(bytes) * shape.iterations / (round[rank].*step) / giga;
        });
    };
    of_all("load_balance", "1", [](const Round& round) { return efficiencies(round).load_balance; });
    of_all("communication_efficiency", "1", [](const Round& round) { return efficiencies(round).communication; });
    of_all("parallel_efficiency", "1", [](const Round& round) { return efficiencies(round).parallel; });
    of_all("run_time", "ms", [&](const Round& round) { return run_time(round) / shape.iterations * milli; });
    // x and y go out, y comes back; the kernel reads both and writes one.
    rates("h2d", 2 * shape.bytes, &RankRound::to_device);
    rates("d2h", shape.bytes, &RankRound::to_host);
    rates("kernel", 3 * shape.bytes, &RankRound::kernel);
    times("to_device", &RankRound::to_device);
    times("compute", &RankRound::kernel);
    times("to_host", &RankRound::to_host);
    times("useful", &RankRound::useful);
    times("waiting", &RankRound::waiting);
    of_ranks("transfer_imbalance", "1", 0, [](const Round& round, std::size_t rank) {
        const auto transfers = [](const RankRound& each) { return each.to_device + each.to_host; };
        return transfers(round[rank]) / mean_of(round, transfers);
    });
}

std::string over_ranks(const CellResult& result) {
    double sum = 0;
    double least = result.flows.front().rate.median;
    double greatest = least;
    for (const FlowResult& part : result.flows) {
        sum += part.rate.median;
        least = std::min(least, part.rate.median);
        greatest = std::max(greatest, part.rate.median);
    }
    return formatted(row, result.quantity.c_str(), result.subject.c_str(), sum / static_cast<double>(result.flows.size()), least,
                     greatest, result.flows.front().rate.n(), result.unit, " mean, least and greatest rank");
}

}  // namespace

Efficiencies efficiencies(const Round& ranks) {
    double greatest = 0;
    for (const RankRound& rank : ranks) greatest = std::max(greatest, rank.useful);
    Efficiencies found;
    found.load_balance = mean_of(ranks, [](const RankRound& rank) { return rank.useful; }) / greatest;
    found.communication = greatest / run_time(ranks);
    found.parallel = found.load_balance * found.communication;
    return found;
}

std::string saxpy_subject(Binding binding) { return std::string("saxpy/") + binding_name(binding); }

bool is_settled(const BindingRounds& measured, double target) {
    const auto parallel = [](const Round& round) { return efficiencies(round).parallel; };
    return measured.rounds.size() >= looks.front() && summarise(over_rounds(measured, parallel)).half_width() <= target &&
           summarise(over_rounds(measured, run_time)).half_width() <= target;
}

std::vector<CellResult> saxpy_figures(const std::vector<BindingRounds>& measured, const SaxpyShape& shape, double target) {
    std::vector<CellResult> figures;
    const BindingRounds* beside_gpu = nullptr;
    for (const BindingRounds& each : measured) {
        if (each.rounds.empty()) continue;
        add_binding(each, shape, target, figures);
        if (each.binding == Binding::gpu) beside_gpu = &each;
    }
    if (beside_gpu == nullptr) return figures;
    CellResult speedup = result_of(*beside_gpu, shape, true, "speedup", "1");
    const std::vector<double> best = over_rounds(*beside_gpu, run_time);
    for (const BindingRounds& each : measured) {
        if (each.binding == Binding::gpu || each.rounds.empty()) continue;
        const std::vector<double> other = over_rounds(each, run_time);
        std::vector<double> samples;
        // Rounds of the same number ran one after the other.
        for (std::size_t i = 0; i < std::min(best.size(), other.size()); ++i) samples.push_back(other[i] / best[i]);
        speedup.flows.push_back(part_result(binding_name(each.binding), summarise(samples)));
        speedup.converged =
            speedup.converged && samples.size() >= looks.front() && speedup.flows.back().rate.half_width() <= target;
    }
    if (!speedup.flows.empty()) figures.push_back(speedup);
    return figures;
}

std::string saxpy_table(const std::vector<CellResult>& results) {
    if (results.empty()) return "";
    std::string table = formatted("%-38s %-14s %9s  %9s   %-9s %3s\n", "figure", "binding", "median", "interval", "", "n");
    for (const CellResult& result : results) {
        if (result.flows.front().name != all_ranks && result.flows.front().name.rfind("rank", 0) == 0) {
            table += over_ranks(result);
            continue;
        }
        for (const FlowResult& part : result.flows) {
            const std::string beside = part.name == all_ranks ? "" : " over " + part.name;
            table +=
                formatted(row, result.quantity.c_str(), result.subject.c_str(), part.rate.median, part.rate.low, part.rate.high,
                          part.rate.n(), result.unit, (beside + (result.converged ? "" : "  not converged")).c_str());
        }
    }
    return table;
}

}  // namespace nearfar
