#include "cell/matrix.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <tuple>

#include "core/error.h"
#include "node/cpus.h"
#include "node/gpu_vendor.h"

namespace nearfar {
namespace {

constexpr std::size_t most_numa_nodes = 8;  // up to so many each is measured

std::vector<int> memories(const Node& node) {
    std::vector<int> usable = node.usable_memory();
    std::sort(usable.begin(), usable.end());
    return usable;
}

Flow between(Endpoint source, Endpoint destination) { return {source, destination, {}}; }

NotMeasured represented(const Cell& cell, const std::string& by) {
    return {cell.text(), "representative", "represented by " + by};
}

// What `of` makes of each GPU with each memory that may be used.
Matrix every_gpu_and_memory(const Node& node, bool all, const std::function<std::vector<Cell>(Endpoint, Endpoint)>& of) {
    Matrix matrix;
    for (std::size_t i = 0; i < node.gpus.size(); ++i) {
        const Endpoint gpu{Place::gpu_memory, static_cast<int>(i)};
        for (const auto& [memory, measured] : memories_that_stand_for(node, node.gpus[i])) {
            for (const Cell& cell : of({Place::numa_memory, memory}, gpu)) {
                const std::string instead = "n" + std::to_string(measured) + ":" + gpu.text();
                if (all || measured == memory)
                    matrix.cells.push_back(cell);
                else
                    matrix.left_out.push_back(represented(cell, instead + " (same package, class and distance)"));
            }
        }
    }
    return matrix;
}

std::string known_gpus(const Node& node) {
    if (node.gpus.empty()) return std::string("this node has no ") + gpu_vendor.name + " GPU on its PCI bus";
    return "this node has " + std::to_string(node.gpus.size()) + " GPU(s), g0 to g" + std::to_string(node.gpus.size() - 1);
}

std::string known_memory(const Node& node) {
    std::string text = "this node has NUMA nodes";
    for (const NumaNode& numa : node.numa_nodes) text += " " + std::to_string(numa.index);
    return text;
}

}  // namespace

std::map<int, int> memories_that_stand_for(const Node& node, const PciGpu& gpu) {
    const std::vector<int> usable = memories(node);
    std::map<std::tuple<std::optional<int>, bool, std::optional<int>>, int> first;
    std::map<int, int> found;
    for (const int memory : usable) {
        const auto away = gpu.numa_node ? node.distance(*gpu.numa_node, memory) : std::nullopt;
        const auto kind = std::tuple{node.numa_node(memory)->package, gpu.numa_node == memory, away};
        found[memory] = usable.size() > most_numa_nodes ? first.emplace(kind, memory).first->second : memory;
    }
    return found;
}

std::map<std::pair<int, int>, std::pair<int, int>> pairs_that_stand_for(const Node& node) {
    const std::vector<int> usable = memories(node);
    std::map<std::tuple<std::optional<int>, std::optional<int>, bool, std::optional<int>>, std::pair<int, int>> first;
    std::map<std::pair<int, int>, std::pair<int, int>> found;
    for (const NumaNode& cores : node.numa_nodes) {
        if (intersection(cores.cpus, node.allowed_cpus).empty()) continue;
        for (const int memory : usable) {
            const std::pair pair{cores.index, memory};
            const auto kind = std::tuple{cores.package, node.numa_node(memory)->package, cores.index == memory,
                                         node.distance(cores.index, memory)};
            found[pair] = usable.size() > most_numa_nodes ? first.emplace(kind, pair).first->second : pair;
        }
    }
    return found;
}

Matrix host_device_matrix(const Node& node, bool all) {
    return every_gpu_and_memory(node, all, [](Endpoint memory, Endpoint gpu) {
        const Flow down = between(memory, gpu);
        const Flow up = between(gpu, memory);
        return std::vector<Cell>{{{down}}, {{up}}, {{down, up}}};
    });
}

Matrix quick_matrix(const Node& node, bool all) {
    Matrix matrix = every_gpu_and_memory(node, all, [](Endpoint memory, Endpoint gpu) {
        return std::vector<Cell>{{{between(memory, gpu)}}, {{between(gpu, memory)}}};
    });
    const auto count = static_cast<int>(node.gpus.size());
    for (const bool read : {false, true}) {
        for (int a = 0; a < count; ++a) {
            for (int b = 0; b < count; ++b) {
                if (a == b) continue;
                Flow flow = between({Place::gpu_memory, a}, {Place::gpu_memory, b});
                if (read) flow.driver = flow.destination;
                matrix.cells.push_back({{flow}});
            }
        }
    }
    return matrix;
}

Matrix stream_matrix(const Node& node, bool all) {
    Matrix matrix;
    Cell own;
    for (const auto& [pair, measured] : pairs_that_stand_for(node)) {
        Flow flow = between({Place::cores, pair.first}, {Place::numa_memory, pair.second});
        flow.kernel = Kernel::triad;
        if (all || measured == pair)
            matrix.cells.push_back({{flow}});
        else
            matrix.left_out.push_back(represented({{flow}}, "another pair of the same packages and distance"));
        if (pair.first == pair.second) own.flows.push_back(flow);
    }
    if (own.flows.size() > 1) matrix.cells.push_back(own);
    return matrix;
}

std::string absent_endpoint(const Cell& cell, const Node& node) {
    for (const Flow& flow : cell.flows) {
        std::vector<Endpoint> ends{flow.source, flow.destination};
        if (flow.driver) ends.push_back(*flow.driver);
        for (const Endpoint& end : ends) {
            const bool gpu = end.place == Place::gpu_memory;
            const bool known =
                gpu ? static_cast<std::size_t>(end.index) < node.gpus.size() : node.numa_node(end.index) != nullptr;
            if (!known) return "there is no " + end.text() + ": " + (gpu ? known_gpus(node) : known_memory(node));
            if (!gpu && node.numa_node(end.index)->is_gpu_memory) return end.text() + " is a GPU's memory, not the host's";
        }
    }
    return "";
}

void require_endpoints(const std::vector<Cell>& cells, const Node& node) {
    for (const Cell& cell : cells) {
        const std::string absent = absent_endpoint(cell, node);
        if (!absent.empty()) throw WrongUse("cell '" + cell.text() + "': " + absent);
    }
}

void require_aggressors(const std::vector<Cell>& aggressors, const Node& node) {
    std::set<std::string> named;
    for (const Cell& cell : aggressors) {
        const std::string option = "--aggressor " + cell.text() + ": ";
        const std::string absent = absent_endpoint(cell, node);
        if (!absent.empty()) throw WrongUse(option + absent);
        for (const Flow& flow : cell.flows) {
            if (flow.kernel != Kernel::none)
                throw WrongUse(option + "an aggressor copies from or to a GPU; STREAM is no background load");
            if (flow.threads)
                throw WrongUse(option + "an aggressor's tasks are processes: " + flow.text().substr(0, flow.text().rfind('/')));
            if (!named.insert(flow.text()).second)
                throw WrongUse(option + flow.text() + " is named twice; for two tasks on it use /x2");
        }
    }
}

}  // namespace nearfar
