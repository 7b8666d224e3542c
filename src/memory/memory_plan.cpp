#include "memory/memory_plan.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <utility>

#include "core/error.h"
#include "memory/control_group.h"
#include "node/node.h"
#include "node/proc_files.h"

namespace nearfar {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t no_limit = std::uint64_t{1} << 60;  // version 1 writes the largest number of pages

// A limit's file, the file of what is used, and the lines of memory.stat that the kernel gives back when memory is short.
struct Files {
    const char* limit;
    const char* used;
    std::vector<std::string> caches;
};

struct Controller {
    std::string name;  // of version 1
    std::vector<Files> version_1;
    std::vector<Files> version_2;
};

Controller controller_of(HostPages pages) {
    if (pages == HostPages::huge)
        return {"hugetlb",
                {{"hugetlb.2MB.limit_in_bytes", "hugetlb.2MB.usage_in_bytes", {}}},
                {{"hugetlb.2MB.max", "hugetlb.2MB.current", {}}}};
    const std::vector<std::string> caches{"inactive_file", "active_file", "slab_reclaimable"};
    return {"memory",
            {{"memory.limit_in_bytes", "memory.usage_in_bytes", {"total_inactive_file", "total_active_file"}}},
            {{"memory.max", "memory.current", caches}, {"memory.high", "memory.current", caches}}};
}

// A number, whatever unit it is in; nothing where the file is not there or says "max".
std::optional<std::uint64_t> number_in(const fs::path& path) {
    std::ifstream file(path);
    std::uint64_t number = 0;
    if (!(file >> number)) return {};
    return number;
}

std::string mib(std::uint64_t bytes) { return std::to_string(bytes >> 20) + " MiB"; }

std::string needed(std::uint64_t bytes, std::uint64_t planned) {
    return mib(bytes) + " are needed" + (planned > 0 ? " beside " + mib(planned) + " of other buffers" : "");
}

std::string node_folder(int numa_node) { return "/sys/devices/system/node/node" + std::to_string(numa_node); }

// Bytes of the lines of a NUMA node's meminfo, or of a whole machine's, that have one of these names.
std::uint64_t bytes_in(const std::string& path, const std::vector<std::string>& wanted) {
    const std::string text = text_of(path);
    std::uint64_t sum = 0;
    for (const std::string& name : wanted) sum += parse_memory(text, name).value_or(0);
    return sum;
}

// Bytes that the machine can give, where its one node is all the memory there is; 0 elsewhere. The memory of some virtual machines
// grows as it is used, and the node's own figures do not show what is still to come.
std::uint64_t whole_machine(const std::string& root) {
    std::ifstream nodes(root + "/sys/devices/system/node/has_memory");
    std::string listed;
    if (!(nodes >> listed) || listed.find_first_of(",-") != std::string::npos) return 0;
    return bytes_in(root + "/proc/meminfo", {"MemAvailable"});
}

}  // namespace

std::vector<GroupLimit> group_limits(HostPages pages, const std::string& root) {
    const Controller controller = controller_of(pages);
    std::vector<GroupLimit> found;
    for (const GroupHierarchy& hierarchy : group_hierarchies(controller.name, root)) {
        for (std::string group = hierarchy.own;; group = fs::path(group).parent_path()) {
            for (const Files& files : hierarchy.version_2 ? controller.version_2 : controller.version_1) {
                const std::string file = (fs::path(group) / files.limit).string();
                const std::optional<std::uint64_t> limit = number_in(root + file);
                const std::optional<std::uint64_t> used = number_in(root + (fs::path(group) / files.used).string());
                if (!limit || !used || *limit >= no_limit) continue;
                const std::uint64_t caches = sum_in(root + group + "/memory.stat", files.caches);
                const std::uint64_t taken = *used - std::min(*used, caches);
                found.push_back({file, *limit, *limit - std::min(*limit, taken)});
            }
            if (group == hierarchy.top) break;
        }
    }
    return found;
}

MemoryPlan::MemoryPlan(std::string root) : root_(std::move(root)) {
    for (const HostPages pages : {HostPages::ordinary, HostPages::huge}) kinds_[pages].limits = group_limits(pages, root_);
}

void MemoryPlan::require_node(int numa_node, std::uint64_t bytes, HostPages pages) const {
    const std::string name = numa_node_name(numa_node);
    const Kind& kind = kinds_.at(pages);
    const auto known = kind.on_node.find(numa_node);
    const std::uint64_t planned = known == kind.on_node.end() ? 0 : known->second;
    if (pages == HostPages::huge) {
        const std::string folder = node_folder(numa_node) + "/hugepages/hugepages-2048kB";
        const std::optional<std::uint64_t> free = number_in(root_ + folder + "/free_hugepages");
        if (!free) throw Prevented("unsupported", "this kernel has no huge pages of 2 MiB: " + folder + " is not there");
        if (*free * huge_page < planned + bytes)
            throw Prevented("no_memory", name + " has " + std::to_string(*free) + " free huge pages of 2 MiB, " +
                                             std::to_string((planned + bytes) / huge_page) + " are needed; reserve them in " +
                                             folder + "/nr_hugepages");
        return;
    }
    const std::string file = node_folder(numa_node) + "/meminfo";
    const std::uint64_t on_node = bytes_in(root_ + file, {"MemFree", "Inactive(file)", "SReclaimable"});
    const std::uint64_t free = std::max(on_node, whole_machine(root_));
    if (free > 0 && free < planned + bytes)
        throw Prevented("no_memory", name + " has " + mib(free) + " free (" + file + "), " + needed(bytes, planned));
}

void MemoryPlan::add(int numa_node, std::size_t bytes, HostPages pages) {
    require_node(numa_node, bytes, pages);
    Kind& kind = kinds_[pages];
    for (const GroupLimit& limit : kind.limits)
        if (limit.left < kind.in_all + bytes)
            throw Prevented("no_memory", "the control group's " + limit.file + " allows " + mib(limit.limit) + ", of which " +
                                             mib(limit.left) + " are left: " + needed(bytes, kind.in_all));
    kind.on_node[numa_node] += bytes;
    kind.in_all += bytes;
}

}  // namespace nearfar
