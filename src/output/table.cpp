#include "output/table.h"

#include "cell/sizes.h"
#include "cell/tail_figures.h"

namespace nearfar {
namespace {

// A name in the first column.
std::string padded(const std::string& name) {
    constexpr std::size_t width = 28;
    return name + std::string(name.size() < width ? width - name.size() + 1 : 1, ' ');
}

// `visits` 0: of what was not visited by itself.
std::string row(const std::string& name, const Summary& rate, std::size_t visits, const std::optional<double>& ceiling,
                bool converged) {
    const double figure = rate.plateau ? rate.plateau->value : rate.median;
    const std::string steady = rate.plateau ? formatted("%5.1f%%", 100 * rate.plateau->steadiness) : "-";
    const std::string times = visits > 0 ? formatted("%zu", visits) : "-";
    const std::string limit =
        ceiling ? formatted("%8.1f %3.0f%%", *ceiling, 100 * figure / *ceiling) : formatted("%8s %4s", "-", "-");
    return padded(name) + formatted("%9.2f %9.2f %7s %7s ", figure, rate.median, steady.c_str(), times.c_str()) + limit +
           (converged ? "\n" : "  not converged\n");
}

std::string tail_line(const TailFigures& tail) {
    return formatted("  worst of %zu: %.1f times the median, at %.1f s (round %zu); p99 %.1f, p99.9 %.1f us\n", tail.count,
                     tail.worst / tail.p50, tail.worst_at, tail.worst_visit, tail.p99, tail.p99_9);
}

}  // namespace

std::string table_heading() {
    return padded("cell") + formatted("%9s %9s %7s %7s %8s\n", "GB/s", "median", "steady", "rounds", "ceiling");
}

std::string table_rows(const CellResult& result, double began) {
    const std::size_t visits = result.visits.size();
    std::string rows;
    if (result.flows.size() == 1) {
        const bool timed = result.quantity.rfind("latency.", 0) == 0;
        const bool at_sizes = result.cell.aspect == Aspect::sizes;
        const std::string more = at_sizes         ? " " + size_words(result.bytes)
                                 : timed          ? " " + result.quantity.substr(8) + ", us"
                                 : result.slowest ? " tail, us"
                                                  : "";
        rows = row(result.cell.text() + more, result.total, visits, result.flows[0].ceiling, result.converged);
    } else {
        rows = row(result.cell.text(), result.total, visits, {}, result.converged);
        for (const FlowResult& flow : result.flows)
            rows += row("  " + flow.flow.text() + (flow.unit != nullptr ? std::string(", ") + flow.unit : ""), flow.rate, visits,
                        flow.ceiling, result.converged);
    }
    if (result.slowest) rows += tail_line(tail_figures(result, began));
    if (!result.smaller.empty()) rows += "  " + result.smaller + "\n";
    for (const AggressorRate& aggressor : result.aggressors)
        rows += row("  aggressor " + aggressor.flow, aggressor.rate, 0, {}, true);
    return rows;
}

std::string table_row(const SizeCurve& curve) {
    return padded(curve.cell) + formatted("half of its largest rate at %.0f bytes\n", curve.half_bandwidth_bytes);
}

std::string table_row(const NotMeasured& cell, const char* what) { return padded(cell.cell) + what + ": " + cell.reason + "\n"; }

}  // namespace nearfar
