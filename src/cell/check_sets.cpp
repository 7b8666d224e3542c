// The cells of checks, as --set names them.
#include <algorithm>
#include <climits>
#include <set>
#include <string>
#include <tuple>

#include "cell/matrix.h"

namespace nearfar {
namespace {

constexpr std::size_t few = 6;         // GPUs, as nearfar/cells/many_gpus.py has it
constexpr std::size_t most_pairs = 8;  // GPUs of which every pair is measured, and with staged copies: nearfar/cells/peers.py
constexpr std::size_t most_staged = 4;
constexpr int unknown = INT_MAX;  // package; behind all others

using Cells = std::vector<Cell>;

Endpoint memory_of(int numa_node) { return {Place::numa_memory, numa_node}; }
Endpoint gpu_of(int index) { return {Place::gpu_memory, index}; }

Flow between(Endpoint source, Endpoint destination) { return {source, destination, {}}; }

// A GPU with the host memory of a NUMA node, and several of them.
using Member = std::pair<int, int>;
using Members = std::vector<Member>;

bool has_many(const Node& node) { return node.gpus.size() > few; }

const PciGpu& known_gpu(const Node& node, int index) { return node.gpus[static_cast<std::size_t>(index)]; }

bool is_first_of_package(const Node& node, int gpu) {
    const auto is_beside = [&](const PciGpu& other) { return other.package == known_gpu(node, gpu).package; };
    return std::none_of(node.gpus.begin(), node.gpus.begin() + gpu, is_beside);
}

// With its nearest memory; in turns where nothing is known of it.
Member near(const Node& node, int index) {
    const std::vector<int> memories = node.usable_memory();
    const PciGpu& gpu = known_gpu(node, index);
    if (!gpu.numa_node && !gpu.package) return {index, memories[static_cast<std::size_t>(index) % memories.size()]};
    const auto farness = [&](int memory) {
        const auto distance = gpu.numa_node ? node.distance(*gpu.numa_node, memory) : std::nullopt;
        return std::tuple{gpu.numa_node != memory, node.numa_node(memory)->package != gpu.package, distance.value_or(INT_MAX),
                          memory};
    };
    return {index, *std::min_element(memories.begin(), memories.end(), [&](int a, int b) { return farness(a) < farness(b); })};
}

// The GPUs of each package, each with its nearest memory.
std::map<int, Members> packages(const Node& node) {
    std::map<int, Members> members;
    for (int gpu = 0; gpu < static_cast<int>(node.gpus.size()); ++gpu)
        members[known_gpu(node, gpu).package.value_or(unknown)].push_back(near(node, gpu));
    return members;
}

// A package's turn after the other's.
Members spread(const std::map<int, Members>& packages, std::size_t turns) {
    Members members;
    for (std::size_t turn = 0; turn < turns; ++turn)
        for (const auto& [package, own] : packages)
            if (turn < own.size()) members.push_back(own[turn]);
    return members;
}

Cell load(const Members& members, bool to_gpu, bool to_host, int tasks = 1) {
    Cell cell;
    for (const auto& [gpu, memory] : members) {
        if (to_gpu) cell.flows.push_back(between(memory_of(memory), gpu_of(gpu)));
        if (to_host) cell.flows.push_back(between(gpu_of(gpu), memory_of(memory)));
    }
    for (Flow& flow : cell.flows) flow.tasks = tasks;
    return cell;
}

// One GPU more from step to step, from `least` on; of many the powers of two and all.
void add_ramp(std::vector<Members>& steps, const Members& members, std::size_t least) {
    for (std::size_t count = least; count <= members.size(); ++count)
        if (members.size() <= few || count == members.size() || (count & (count - 1)) == 0)
            steps.emplace_back(members.begin(), members.begin() + static_cast<std::ptrdiff_t>(count));
}

// Each package's GPUs with the next package's memory, then all of them at once.
void add_across(std::vector<Members>& steps, const Node& node) {
    std::map<int, std::vector<int>> memories;
    for (const int memory : node.usable_memory())
        if (const std::optional<int> package = node.numa_node(memory)->package) memories[*package].push_back(memory);
    if (memories.size() < 2) return;
    Members everyone;
    for (auto& [package, members] : packages(node)) {
        const auto next = memories.upper_bound(package);
        const std::vector<int>& far = (next == memories.end() ? memories.begin() : next)->second;
        Members crossing;
        for (const auto& [gpu, memory] : members) crossing.emplace_back(gpu, far[crossing.size() % far.size()]);
        if (!has_many(node)) steps.push_back(crossing);
        everyone.insert(everyone.end(), crossing.begin(), crossing.end());
    }
    steps.push_back(everyone);
}

Cells saturation(const Node& node) {
    if (node.gpus.size() < 2) return {};
    const std::map<int, Members> of_packages = packages(node);
    std::vector<Members> steps;
    add_ramp(steps, spread(of_packages, node.gpus.size()), 1);
    if (of_packages.size() > 1 && of_packages.count(unknown) == 0) {
        for (const auto& [package, members] : of_packages) {
            const bool stands_for_others = package == of_packages.begin()->first && !has_many(node);
            add_ramp(steps, members, stands_for_others ? 2 : std::max<std::size_t>(2, members.size()));
        }
        add_across(steps, node);
    }
    Cells cells;
    std::set<std::string> known;
    for (const auto& [to_gpu, to_host] : {std::pair(true, false), {false, true}, {true, true}})
        for (const Members& members : steps)
            if (const Cell cell = load(members, to_gpu, to_host); known.insert(cell.text()).second) cells.push_back(cell);
    return cells;
}

Cells sharing(const Node& node) {
    const Members members = spread(packages(node), has_many(node) ? 1 : node.gpus.size());
    Cells cells;
    for (const bool to_gpu : {true, false})
        for (const int tasks : {1, 2, 3, 4})
            if (!members.empty() && (tasks != 3 || !has_many(node))) cells.push_back(load(members, to_gpu, !to_gpu, tasks));
    return cells;
}

template <typename Is>
Cells those(Cells cells, const Is& is) {
    cells.erase(std::remove_if(cells.begin(), cells.end(), [&](const Cell& cell) { return !is(cell.flows[0], cell); }),
                cells.end());
    return cells;
}

Cells host_device(const Node& node) {
    Cells cells = those(host_device_matrix(node).cells, [&](const Flow& flow, const Cell& cell) {
        const std::optional<int> own = known_gpu(node, flow.gpu()).numa_node;
        return cell.flows.size() == 1 || !has_many(node) || !own || own == flow.numa_node() ||
               is_first_of_package(node, flow.gpu());
    });
    if (cells.empty()) return cells;
    cells.push_back(load({near(node, 0)}, true, false));
    cells.back().flows[0].pageable = true;
    return cells;
}

Cells peers(const Node& node) {
    const std::size_t count = node.gpus.size();
    Cells cells;
    const auto add = [&](int a, int b, bool both, bool staged) {
        Flow there = between(gpu_of(a), gpu_of(b));
        Flow back = between(gpu_of(b), gpu_of(a));
        there.staged = back.staged = staged;
        cells.insert(cells.end(), {{{there}}, {{back}}});
        if (both) cells.push_back({{there, back}});
        if (staged || count > most_pairs) return;
        there.driver = there.destination;
        back.driver = back.destination;
        cells.insert(cells.end(), {{{there}}, {{back}}});
    };
    for (int a = 0; a < static_cast<int>(count); ++a)
        for (int b = a + 1; b < static_cast<int>(count > most_pairs ? std::min<std::size_t>(count, a + 2) : count); ++b) {
            const bool stands_for_others = a + b == 1 && count <= most_pairs;
            add(a, b, count <= few || stands_for_others, false);
            if (count <= most_staged || stands_for_others) add(a, b, true, true);
        }
    if (count < 4 || count % 2 != 0 || count > most_pairs) return cells;
    Cell halves[3];  // there, back, both
    for (int a = 0, b = static_cast<int>(count) / 2; b < static_cast<int>(count); ++a, ++b) {
        const Flow there = between(gpu_of(a), gpu_of(b));
        const Flow back = between(gpu_of(b), gpu_of(a));
        halves[0].flows.push_back(there);
        halves[1].flows.push_back(back);
        halves[2].flows.insert(halves[2].flows.end(), {there, back});
    }
    cells.insert(cells.end(), std::begin(halves), std::end(halves));
    return cells;
}

// With more GPUs than `most` without pairs of them.
Cells single_paths(const Node& node, std::size_t most) {
    return those(quick_matrix(node).cells,
                 [&](const Flow& flow, const Cell&) { return node.gpus.size() <= most || flow.is_host_flow(); });
}

// One cell of each path class for the first GPU of each package (of many of the first alone), and the first pair of GPUs.
Cells size_sweep(const Node& node) {
    std::set<std::tuple<int, bool, bool, bool>> known;
    Cells cells = those(single_paths(node, 0), [&](const Flow& flow, const Cell&) {
        if (!is_first_of_package(node, flow.gpu()) || (has_many(node) && flow.gpu() > 0)) return false;
        const PciGpu& gpu = known_gpu(node, flow.gpu());
        const bool is_near = gpu.numa_node == flow.numa_node();
        return known
            .emplace(flow.gpu(), flow.to_gpu(), is_near, is_near || gpu.package == node.numa_node(flow.numa_node())->package)
            .second;
    });
    if (node.gpus.size() > 1) cells.push_back({{between(gpu_of(0), gpu_of(1))}});
    return cells;
}

Cells latencies(const Node& node) {
    return those(single_paths(node, few), [&](const Flow& flow, const Cell&) {
        if (flow.is_peer_flow()) return !flow.driver;
        return flow.to_gpu() && (!has_many(node) || is_first_of_package(node, flow.gpu()));
    });
}

Cells every_link(const Node& node) {
    Cells cells;
    for (int gpu = 0; gpu < static_cast<int>(node.gpus.size()); ++gpu) {
        const bool is_unknown = !known_gpu(node, gpu).numa_node && !known_gpu(node, gpu).package;
        cells.push_back(load({is_unknown ? Member{gpu, node.usable_memory().front()} : near(node, gpu)}, true, false));
    }
    return cells;
}

Cells gpu_memory(const Node& node) {
    Cells cells;
    Cell all;
    for (int gpu = 0; gpu < static_cast<int>(node.gpus.size()); ++gpu) {
        all.flows.push_back(between(gpu_of(gpu), gpu_of(gpu)));
        all.flows.back().kernel = Kernel::triad;
        cells.push_back({{all.flows.back()}});
    }
    if (cells.size() > 1) cells.push_back(all);
    return cells;
}

}  // namespace

const CheckSets& check_sets() {
    static const CheckSets checks{{"gpu_memory_check", gpu_memory},
                                  {"host_device_check", host_device},
                                  {"host_memory_check", [](const Node& node) { return stream_matrix(node).cells; }},
                                  {"latency_check", latencies},
                                  {"peer_check", peers},
                                  {"quick_check", [](const Node& node) { return single_paths(node, most_pairs); }},
                                  {"saturation_check", saturation},
                                  {"sharing_check", sharing},
                                  {"size_sweep_check", size_sweep},
                                  {"tail_check", [](const Node& node) { return single_paths(node, few); }},
                                  {"topology_check", every_link}};
    return checks;
}

}  // namespace nearfar
