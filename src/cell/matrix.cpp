#include "cell/matrix.h"

#include <functional>
#include <string>

#include "cell/representatives.h"
#include "core/error.h"
#include "node/gpu_vendor.h"

namespace nearfar {
namespace {

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

}  // namespace nearfar
