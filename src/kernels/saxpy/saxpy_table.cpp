#include "kernels/saxpy/saxpy_table.h"

#include <algorithm>

#include "output/table.h"

namespace nearfar {
namespace {

constexpr const char* row = "%-38s %-14s %9.3f  %9.3f – %-9.3f %3zu  %s%s\n";

std::string over_ranks(const SubjectResult& result) {
    double sum = 0;
    double least = result.parts.front().rate.median;
    double greatest = least;
    for (const PartResult& part : result.parts) {
        sum += part.rate.median;
        least = std::min(least, part.rate.median);
        greatest = std::max(greatest, part.rate.median);
    }
    return formatted(row, result.quantity.c_str(), result.subject.c_str(), sum / static_cast<double>(result.parts.size()), least,
                     greatest, result.parts.front().rate.n(), result.unit, " mean, least and greatest rank");
}

}  // namespace

std::string saxpy_table(const std::vector<SubjectResult>& results) {
    if (results.empty()) return "";
    std::string table = formatted("%-38s %-14s %9s  %9s   %-9s %3s\n", "figure", "binding", "median", "interval", "", "n");
    for (const SubjectResult& result : results) {
        const bool of_ranks = result.parts.front().name.rfind("rank", 0) == 0 && result.parts.front().name != "ranks";
        if (of_ranks) {
            table += over_ranks(result);
            continue;
        }
        for (const PartResult& part : result.parts) {
            const std::string beside = part.name == "ranks" ? "" : " over " + part.name;
            table +=
                formatted(row, result.quantity.c_str(), result.subject.c_str(), part.rate.median, part.rate.low, part.rate.high,
                          part.rate.n(), result.unit, (beside + (result.converged ? "" : "  not converged")).c_str());
        }
    }
    return table;
}

}  // namespace nearfar
