#include "cell/matrix.h"

#include <algorithm>
#include <string>

#include "core/error.h"
#include "node/cpus.h"

namespace nearfar {
namespace {

Flow between(Endpoint source, Endpoint destination) { return {source, destination, {}}; }

std::string known_gpus(const Node& node) {
    if (node.gpus.empty()) return "this node has no NVIDIA GPU on its PCI bus";
    return "this node has " + std::to_string(node.gpus.size()) + " GPU(s), g0 to g" + std::to_string(node.gpus.size() - 1);
}

std::string known_memory(const Node& node) {
    std::string text = "this node has NUMA nodes";
    for (const NumaNode& numa : node.numa_nodes) text += " " + std::to_string(numa.index);
    return text;
}

}  // namespace

std::vector<Cell> host_device_matrix(const Node& node) {
    std::vector<Cell> cells;
    for (std::size_t i = 0; i < node.gpus.size(); ++i) {
        for (const int numa : node.usable_memory()) {
            const Endpoint gpu{Place::gpu_memory, static_cast<int>(i)};
            const Endpoint memory{Place::numa_memory, numa};
            cells.push_back({{between(memory, gpu)}});
            cells.push_back({{between(gpu, memory)}});
            cells.push_back({{between(memory, gpu), between(gpu, memory)}});
        }
    }
    return cells;
}

std::vector<Cell> quick_matrix(const Node& node) {
    std::vector<Cell> cells = host_device_matrix(node);
    cells.erase(std::remove_if(cells.begin(), cells.end(), [](const Cell& cell) { return cell.flows.size() > 1; }), cells.end());
    const auto count = static_cast<int>(node.gpus.size());
    for (const bool read : {false, true}) {
        for (int a = 0; a < count; ++a) {
            for (int b = 0; b < count; ++b) {
                if (a == b) continue;
                Flow flow = between({Place::gpu_memory, a}, {Place::gpu_memory, b});
                if (read) flow.driver = flow.destination;
                cells.push_back({{flow}});
            }
        }
    }
    return cells;
}

std::vector<Cell> stream_matrix(const Node& node) {
    std::vector<Cell> cells;
    Cell all;
    for (const NumaNode& cores : node.numa_nodes) {
        if (intersection(cores.cpus, node.allowed_cpus).empty()) continue;
        for (const int memory : node.usable_memory()) {
            Flow flow = between({Place::cores, cores.index}, {Place::numa_memory, memory});
            flow.kernel = Kernel::triad;
            cells.push_back({{flow}});
            if (memory == cores.index) all.flows.push_back(flow);
        }
    }
    if (all.flows.size() > 1) cells.push_back(all);
    return cells;
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

}  // namespace nearfar
