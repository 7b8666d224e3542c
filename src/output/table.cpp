#include "output/table.h"

#include "cell/sizes.h"

namespace nearfar {
namespace {

// A name in the first column.
std::string padded(const std::string& name) {
    constexpr std::size_t width = 28;
    return name + std::string(name.size() < width ? width - name.size() + 1 : 1, ' ');
}

std::string row(const std::string& name, const Summary& rate, const std::optional<double>& ceiling, bool converged) {
    const std::string limit =
        ceiling ? formatted("%8.1f %3.0f%%", *ceiling, 100 * rate.median / *ceiling) : formatted("%8s %4s", "-", "-");
    return padded(name) + formatted("%9.2f  %9.2f – %-9.2f %3zu ", rate.median, rate.low, rate.high, rate.n()) + limit +
           (converged ? "\n" : "  not converged\n");
}

}  // namespace

std::string table_heading() {
    return padded("cell") + formatted("%9s  %9s   %-9s %3s %8s\n", "GB/s", "interval", "", "n", "ceiling");
}

std::string table_rows(const CellResult& result, bool with_size) {
    std::string rows;
    if (result.flows.size() == 1) {
        const bool timed = result.quantity.rfind("latency.", 0) == 0;
        const std::string more = with_size ? " " + size_words(result.bytes)
                                 : timed   ? " " + result.quantity.substr(8) + ", us"
                                           : "";
        rows = row(result.cell.text() + more, result.total, result.flows[0].ceiling, result.converged);
    } else {
        rows = row(result.cell.text(), result.total, {}, result.converged);
        for (const FlowResult& flow : result.flows)
            rows += row("  " + flow.flow.text(), flow.rate, flow.ceiling, result.converged);
    }
    for (const AggressorRate& aggressor : result.aggressors)
        rows += row("  aggressor " + aggressor.flow, aggressor.rate, {}, true);
    return rows;
}

std::string table_row(const SizeCurve& curve) {
    return padded(curve.cell) + formatted("half of its largest rate at %.0f bytes\n", curve.half_bandwidth_bytes);
}

std::string table_row(const NotMeasured& cell, const char* what) { return padded(cell.cell) + what + ": " + cell.reason + "\n"; }

}  // namespace nearfar
