#include "cell/tail_figures.h"

#include <algorithm>
#include <vector>

namespace nearfar {

TailFigures tail_figures(const CellResult& result, double began) {
    std::vector<double> times = result.total.samples;
    std::sort(times.begin(), times.end());
    const double at = result.slowest->at;
    const auto is_later = [&](const Visit& visit) { return visit.begin > at; };
    const auto next = std::find_if(result.visits.begin(), result.visits.end(), is_later);
    TailFigures figures;
    figures.count = times.size();
    figures.p50 = result.total.median;
    figures.p99 = quantile(times, 0.99);
    figures.p99_9 = quantile(times, 0.999);
    figures.worst = times.back();
    figures.worst_at = at - began;
    figures.worst_visit = static_cast<std::size_t>(next - result.visits.begin());
    return figures;
}

}  // namespace nearfar
