#include "node/node.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <utility>

#include "core/error.h"
#include "node/cpus.h"
#include "node/gpu_vendor.h"
#include "node/hwloc_machine.h"

namespace nearfar {
namespace {

std::string first_line(const std::string& path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

std::optional<int> package_of(hwloc_obj_t object) {
    for (; object != nullptr; object = object->parent)
        if (object->type == HWLOC_OBJ_PACKAGE) return static_cast<int>(object->os_index);
    return {};
}

void read_memory(hwloc_topology_t topology, Node& node) {
    const hwloc_const_bitmap_t allowed = hwloc_topology_get_allowed_nodeset(topology);
    hwloc_obj_t numa = nullptr;
    while ((numa = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, numa)) != nullptr) {
        NumaNode found;
        found.index = static_cast<int>(numa->os_index);
        found.package = package_of(numa);
        found.cpus = indices_of(numa->cpuset);
        found.memory = numa->attr->numanode.local_memory;
        found.is_gpu_memory = numa->subtype != nullptr && std::string(numa->subtype) == "GPUMemory";
        // A memory without CPUs of its own hangs below the nearest CPUs in hwloc's tree; the kernel's list is the truth.
        const std::string own = first_line("/sys/devices/system/node/node" + std::to_string(found.index) + "/cpulist");
        if (own.empty()) found.cpus.clear();
        found.allowed = hwloc_bitmap_isset(allowed, numa->os_index) != 0;
        node.numa_nodes.push_back(found);
    }
    std::sort(node.numa_nodes.begin(), node.numa_nodes.end(),
              [](const NumaNode& a, const NumaNode& b) { return a.index < b.index; });
}

void read_distances(hwloc_topology_t topology, Node& node) {
    // A node is at 10 from itself by the ACPI's definition; hwloc gives no distances where there is one node.
    for (const NumaNode& numa : node.numa_nodes) node.distances[{numa.index, numa.index}] = 10;
    hwloc_distances_s* latencies = nullptr;
    unsigned found = 1;
    constexpr unsigned long of_the_system = HWLOC_DISTANCES_KIND_FROM_OS | HWLOC_DISTANCES_KIND_MEANS_LATENCY;
    if (hwloc_distances_get_by_type(topology, HWLOC_OBJ_NUMANODE, &found, &latencies, of_the_system, 0) != 0 || found == 0)
        return;
    const auto index = [&](unsigned i) { return static_cast<int>(latencies->objs[i]->os_index); };
    for (unsigned from = 0; from < latencies->nbobjs; ++from)
        for (unsigned to = 0; to < latencies->nbobjs; ++to)
            node.distances[{index(from), index(to)}] = static_cast<int>(latencies->values[from * latencies->nbobjs + to]);
    hwloc_distances_release(topology, latencies);
}

bool is_gpu(hwloc_obj_t device) {
    const auto& pci = device->attr->pcidev;
    if (pci.vendor_id != gpu_vendor.pci_id) return false;
    const bool is_display = pci.class_id == 0x0300 || pci.class_id == 0x0302;
    if (gpu_vendor.is_nvidia) return is_display;
    // The cards' ids, as in nearfar/topology/pci.py: graphics inside AMD's processors and on mainboards have others.
    const unsigned family = pci.device_id >> 4;
    const bool is_card = family == 0x686 || family == 0x66a || (family >= 0x730 && family < 0x780);
    return is_card && (is_display || pci.class_id == 0x0380 || pci.class_id == 0x1200);
}

std::string pci_name(hwloc_obj_t device) {
    char name[32];
    const auto& pci = device->attr->pcidev;
    std::snprintf(name, sizeof name, "%04x:%02x:%02x.%01x", pci.domain, pci.bus, pci.dev, pci.func);
    return name;
}

PcieLink max_link(const std::string& pci) {
    PcieLink link;
    const std::string speed = first_line("/sys/bus/pci/devices/" + pci + "/max_link_speed");  // "32.0 GT/s PCIe"
    const std::string width = first_line("/sys/bus/pci/devices/" + pci + "/max_link_width");
    static const std::map<double, int> generations{{2.5, 1}, {5, 2}, {8, 3}, {16, 4}, {32, 5}, {64, 6}};
    const auto generation = generations.find(std::atof(speed.c_str()));
    if (generation != generations.end()) link.gen = generation->second;
    const int lanes = std::atoi(width.c_str());
    if (lanes > 0 && lanes <= 32) link.width = lanes;  // 255 and 0: the device is gone or does not say
    return link;
}

void read_gpus(hwloc_topology_t topology, Node& node) {
    std::vector<int> host_nodes;
    for (const NumaNode& numa : node.numa_nodes)
        if (!numa.is_gpu_memory) host_nodes.push_back(numa.index);
    hwloc_obj_t device = nullptr;
    while ((device = hwloc_get_next_pcidev(topology, device)) != nullptr) {
        if (!is_gpu(device)) continue;
        PciGpu gpu;
        gpu.pci = pci_name(device);
        for (hwloc_obj_t above = device->parent; above != nullptr && above->type == HWLOC_OBJ_BRIDGE; above = above->parent)
            if (above->attr->bridge.upstream_type == HWLOC_OBJ_BRIDGE_PCI) gpu.uplinks.push_back(pci_name(above));
        const hwloc_obj_t home = hwloc_get_non_io_ancestor_obj(topology, device);
        const std::vector<int> near = intersection(indices_of(home->nodeset), host_nodes);
        if (near.size() == 1) gpu.numa_node = near.front();
        gpu.package = package_of(home);
        gpu.max_link = max_link(gpu.pci);
        if (!gpu.uplinks.empty()) gpu.max_link = narrower(gpu.max_link, max_link(gpu.uplinks.front()));
        node.gpus.push_back(gpu);
    }
    std::sort(node.gpus.begin(), node.gpus.end(), [](const PciGpu& a, const PciGpu& b) { return a.pci < b.pci; });
}

void order_gpus(Node& node, const std::vector<std::string>& order) {
    std::vector<PciGpu> ordered;
    for (const std::string& wanted : order) {
        const std::string pci = normal_pci(wanted);
        const auto found = std::find_if(node.gpus.begin(), node.gpus.end(), [&](const PciGpu& gpu) { return gpu.pci == pci; });
        if (found != node.gpus.end()) {
            ordered.push_back(*found);
            continue;
        }
        PciGpu absent;
        absent.pci = pci;
        absent.on_bus = false;
        ordered.push_back(absent);
    }
    node.gpus = ordered;
}

std::vector<int> one_cpu_a_core(hwloc_topology_t topology, const std::vector<int>& allowed) {
    std::vector<int> firsts;
    hwloc_obj_t core = nullptr;
    while ((core = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_CORE, core)) != nullptr) {
        const std::vector<int> threads = intersection(indices_of(core->cpuset), allowed);
        if (!threads.empty()) firsts.push_back(threads.front());
    }
    std::sort(firsts.begin(), firsts.end());
    return firsts.empty() ? allowed : firsts;  // some captures and guests show no cores
}

std::size_t last_level_cache(hwloc_topology_t topology) {
    std::size_t total = 0;
    for (const hwloc_obj_type_t level : {HWLOC_OBJ_L4CACHE, HWLOC_OBJ_L3CACHE, HWLOC_OBJ_L2CACHE}) {
        hwloc_obj_t cache = nullptr;
        while ((cache = hwloc_get_next_obj_by_type(topology, level, cache)) != nullptr) total += cache->attr->cache.size;
        if (total > 0) break;
    }
    return total;
}

}  // namespace

PcieLink narrower(const PcieLink& device, const PcieLink& slot) {
    const auto smaller = [](std::optional<int> a, std::optional<int> b) { return a && b ? std::min(a, b) : a ? a : b; };
    return {smaller(device.gen, slot.gen), smaller(device.width, slot.width)};
}

const NumaNode* Node::numa_node(int index) const {
    for (const NumaNode& numa : numa_nodes)
        if (numa.index == index) return &numa;
    return nullptr;
}

std::optional<int> Node::distance(int from, int to) const {
    const auto known = distances.find({from, to});
    return known == distances.end() ? std::nullopt : std::optional(known->second);
}

std::vector<int> Node::usable_memory() const {
    std::vector<int> usable;
    for (const NumaNode& numa : numa_nodes)
        if (numa.allowed && !numa.is_gpu_memory && numa.memory > 0) usable.push_back(numa.index);
    return usable;
}

std::vector<int> Node::nearest_cpus(int index) const {
    if (numa_node(index) == nullptr) throw WrongUse("n" + std::to_string(index) + ": this machine has no such NUMA node");
    std::vector<int> nearest;
    int least = 0;
    for (const NumaNode& numa : numa_nodes) {
        std::vector<int> usable = intersection(numa.cpus, allowed_cpus);
        if (usable.empty()) continue;
        if (numa.index == index) return usable;
        const int away = distance(index, numa.index).value_or(255);
        if (!nearest.empty() && away >= least) continue;
        least = away;
        nearest = std::move(usable);
    }
    if (nearest.empty()) throw Prevented("not_allowed", "no CPU is allowed");
    return nearest;
}

std::vector<int> Node::driving_cpus(int index) const {
    const NumaNode* wanted = numa_node(index);
    if (wanted != nullptr && !wanted->cpus.empty() && intersection(wanted->cpus, allowed_cpus).empty())
        throw Prevented("not_allowed", "the cpuset forbids every CPU of NUMA node " + std::to_string(index) + " (" +
                                           cpu_list(wanted->cpus) + ")");
    return nearest_cpus(index);
}

std::string normal_pci(const std::string& text) {
    unsigned domain = 0;
    unsigned bus = 0;
    unsigned device = 0;
    unsigned function = 0;
    char rest = 0;
    const bool full = std::sscanf(text.c_str(), "%x:%x:%x.%x%c", &domain, &bus, &device, &function, &rest) == 4;
    if (!full) {
        domain = 0;
        if (std::sscanf(text.c_str(), "%x:%x.%x%c", &bus, &device, &function, &rest) != 3)
            throw WrongUse("'" + text + "' is not a PCI address (0000:1b:00.0)");
    }
    char name[32];
    std::snprintf(name, sizeof name, "%04x:%02x:%02x.%01x", domain, bus, device, function);
    return name;
}

std::string hostname() {
    char name[256] = "";
    gethostname(name, sizeof name - 1);
    return name;
}

std::string numa_node_name(int numa_node) { return "NUMA node " + std::to_string(numa_node); }

Node read_node(const std::vector<std::string>& gpu_order) {
    if (access("/sys/devices/system/cpu", R_OK) != 0)
        throw Prevented("denied", std::string("/sys/devices/system/cpu cannot be read (") + std::strerror(errno) +
                                      "): mount /sys in this container; CPUs, NUMA nodes and GPUs are found there");
    const hwloc_topology_t topology = this_machine();
    Node node;
    node.hostname = hostname();
    node.product = first_line("/sys/class/dmi/id/product_name");
    hwloc_obj_t package = nullptr;
    while ((package = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_PACKAGE, package)) != nullptr)
        node.packages.push_back({static_cast<int>(package->os_index), indices_of(package->cpuset)});
    node.allowed_cpus = intersection(indices_of(hwloc_topology_get_allowed_cpuset(topology)), cpus_in_effect());
    node.one_cpu_a_core = one_cpu_a_core(topology, node.allowed_cpus);
    node.last_level_cache = last_level_cache(topology);
    read_memory(topology, node);
    read_distances(topology, node);
    read_gpus(topology, node);
    if (!gpu_order.empty()) order_gpus(node, gpu_order);
    return node;
}

}  // namespace nearfar
