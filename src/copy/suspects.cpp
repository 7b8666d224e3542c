#include "copy/suspects.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/statistics.h"

namespace nearfar {
namespace {

constexpr std::size_t least_figures = 3;
constexpr double clearly_below = 0.03;
constexpr double as_good_as_equal = 0.005;
constexpr double below_its_like = 0.01;      // company costs 0.3 %
constexpr double deviation_of_mad = 1.4826;  // of a normal distribution

double tolerance(const Summary& kind) {
    const double scattered = 3 * deviation_of_mad * kind.mad / kind.median;
    return std::min(clearly_below, std::max(as_good_as_equal, scattered));
}

std::string known(const std::optional<int>& number) { return number ? std::to_string(*number) : "?"; }

std::string host_path(const Flow& flow, const Node& node) {
    const PciGpu& gpu = node.gpus.at(static_cast<std::size_t>(flow.gpu()));
    const char* memory = !gpu.numa_node ? "some" : *gpu.numa_node == flow.numa_node() ? "own" : "other";
    return std::string(flow.to_gpu() ? "h2d " : "d2h ") + memory + " gen" + known(gpu.max_link.gen) + "x" +
           known(gpu.max_link.width);
}

std::string peer_path(const Flow& flow, const std::function<int(const Flow&)>& lanes) {
    return (flow.driver ? "read NV" : "write NV") + std::to_string(lanes(flow));
}

std::string kind_of(const Flow& flow, const Node& node, const std::function<int(const Flow&)>& lanes) {
    if (!flow.is_copy()) return flow.text();
    const std::string path = flow.is_host_flow()    ? host_path(flow, node)
                             : flow.is_local_flow() ? "local"
                                                    : peer_path(flow, lanes);
    const std::string text = flow.text();
    const std::size_t options = text.find('/');
    return path + (flow.is_host_flow() && flow.driver ? " @" : "") + (options == std::string::npos ? "" : text.substr(options));
}

}  // namespace

std::vector<std::size_t> suspects(const std::vector<Figure>& figures) {
    std::map<std::string, std::vector<double>> kinds;
    for (const Figure& figure : figures) kinds[figure.kind].push_back(figure.rate);
    std::vector<std::size_t> doubted;
    for (std::size_t i = 0; i < figures.size(); ++i) {
        const std::vector<double>& rates = kinds[figures[i].kind];
        if (rates.size() < least_figures) continue;
        const Summary kind = summarise(rates);
        if (figures[i].rate < kind.median * (1 - tolerance(kind))) doubted.push_back(i);
    }
    return doubted;
}

std::vector<std::size_t> below_best(const std::vector<Figure>& figures) {
    std::map<std::string, double> best;
    for (const Figure& figure : figures) best[figure.kind] = std::max(best[figure.kind], figure.rate);
    std::vector<std::size_t> doubted;
    for (std::size_t i = 0; i < figures.size(); ++i)
        if (figures[i].rate < best[figures[i].kind] * (1 - below_its_like)) doubted.push_back(i);
    return doubted;
}

std::string kind_of(const Cell& cell, const Node& node, const std::function<int(const Flow&)>& lanes) {
    std::vector<std::string> kinds;
    std::set<std::string> ends;
    for (const Flow& flow : cell.flows) {
        kinds.push_back(kind_of(flow, node, lanes));
        ends.insert({flow.source.text(), flow.destination.text()});
    }
    std::sort(kinds.begin(), kinds.end());
    std::string text;
    for (const std::string& kind : kinds) text += (text.empty() ? "" : " + ") + kind;
    // One GPU to two others is no match for two pairs.
    return text + " of " + std::to_string(ends.size());
}

}  // namespace nearfar
