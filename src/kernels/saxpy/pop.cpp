#include "kernels/saxpy/pop.h"

#include <algorithm>
#include <numeric>

namespace nearfar {
namespace {

double mean(const std::vector<double>& values) {
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace

Efficiencies efficiencies(const std::vector<RankTimes>& ranks) {
    std::vector<double> useful;
    double run_time = 0;
    for (const RankTimes& rank : ranks) {
        useful.push_back(rank.useful);
        run_time = std::max(run_time, rank.elapsed);
    }
    const double greatest = *std::max_element(useful.begin(), useful.end());
    Efficiencies found;
    found.load_balance = mean(useful) / greatest;
    found.communication = greatest / run_time;
    found.parallel = found.load_balance * found.communication;
    return found;
}

std::vector<double> over_mean(const std::vector<double>& values) {
    const double middle = mean(values);
    std::vector<double> ratios;
    for (const double value : values) ratios.push_back(value / middle);
    return ratios;
}

}  // namespace nearfar
