#include "memory/memory_plan.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <utility>

#include "core/error.h"

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

// The sum of the lines "name number" of a file whose names are wanted.
std::uint64_t sum_of(const fs::path& path, const std::vector<std::string>& wanted) {
    std::ifstream file(path);
    std::string name;
    std::uint64_t number = 0;
    std::uint64_t sum = 0;
    while (file >> name >> number)
        if (std::find(wanted.begin(), wanted.end(), name) != wanted.end()) sum += number;
    return sum;
}

bool has_word(const std::string& list, const std::string& word) {
    std::stringstream words(list);
    for (std::string each; std::getline(words, each, ',');)
        if (each == word) return true;
    return false;
}

// Of the lines "4:memory,hugetlb:/job" of /proc/self/cgroup the path of a controller; of version 2, whose line is "0::/job", with "".
std::string group_path(const std::string& root, const std::string& controller) {
    std::ifstream file(root + "/proc/self/cgroup");
    for (std::string line; std::getline(file, line);) {
        const std::size_t first = line.find(':');
        const std::size_t second = line.find(':', first + 1);
        if (second == std::string::npos) continue;
        const std::string names = line.substr(first + 1, second - first - 1);
        if (controller.empty() ? names.empty() : has_word(names, controller)) return line.substr(second + 1);
    }
    return "";
}

// A mounted hierarchy of groups: where its top is, and the folder of this process's group in it.
struct Hierarchy {
    std::string top;
    std::string own;
    bool version_2 = false;
};

// From a line of /proc/self/mountinfo: "35 31 0:32 /part /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory".
std::optional<Hierarchy> hierarchy_of(const std::string& line, const std::string& root, const std::string& controller) {
    const std::size_t dash = line.find(" - ");
    if (dash == std::string::npos) return {};
    std::string skipped, part, type, options;
    Hierarchy found;
    std::istringstream before(line);
    before >> skipped >> skipped >> skipped >> part >> found.top;
    std::istringstream after(line.substr(dash + 3));
    after >> type >> skipped >> options;
    found.version_2 = type == "cgroup2";
    if (!found.version_2 && !(type == "cgroup" && has_word(options, controller))) return {};
    // What is mounted may be a part of the hierarchy, in a container the process's own group.
    std::string path = group_path(root, found.version_2 ? "" : controller);
    if (part != "/") path = path.rfind(part, 0) == 0 ? path.substr(part.size()) : "";
    while (!path.empty() && path.back() == '/') path.pop_back();
    found.own = found.top + path;
    std::error_code absent;
    if (path.find("/..") != std::string::npos || !fs::is_directory(root + found.own, absent)) found.own = found.top;
    return found;
}

std::string mib(std::uint64_t bytes) { return std::to_string(bytes >> 20) + " MiB"; }

std::string needed(std::uint64_t bytes, std::uint64_t planned) {
    return mib(bytes) + " are needed" + (planned > 0 ? " beside " + mib(planned) + " of other buffers" : "");
}

std::string node_folder(int numa_node) { return "/sys/devices/system/node/node" + std::to_string(numa_node); }

// Bytes of lines such as "Node 0 MemFree:  12345 kB", or of a whole machine "MemAvailable:  12345 kB".
std::uint64_t bytes_in(const std::string& path, const std::vector<std::string>& wanted) {
    std::ifstream file(path);
    std::uint64_t sum = 0;
    for (std::string line; std::getline(file, line);) {
        std::istringstream words(line);
        std::string key;
        std::uint64_t kib = 0;
        while (words >> key && key.back() != ':') {
        }
        if (words >> kib && std::find(wanted.begin(), wanted.end(), key) != wanted.end()) sum += kib * 1024;
    }
    return sum;
}

// Bytes that the machine can give, where its one node is all the memory there is; 0 elsewhere. The memory of some virtual machines
// grows as it is used, and the node's own figures do not show what is still to come.
std::uint64_t whole_machine(const std::string& root) {
    std::ifstream nodes(root + "/sys/devices/system/node/has_memory");
    std::string listed;
    if (!(nodes >> listed) || listed.find_first_of(",-") != std::string::npos) return 0;
    return bytes_in(root + "/proc/meminfo", {"MemAvailable:"});
}

}  // namespace

std::vector<GroupLimit> group_limits(HostPages pages, const std::string& root) {
    const Controller controller = controller_of(pages);
    std::vector<GroupLimit> found;
    std::ifstream mounts(root + "/proc/self/mountinfo");
    for (std::string line; std::getline(mounts, line);) {
        const std::optional<Hierarchy> hierarchy = hierarchy_of(line, root, controller.name);
        if (!hierarchy) continue;
        for (std::string group = hierarchy->own;; group = fs::path(group).parent_path()) {
            for (const Files& files : hierarchy->version_2 ? controller.version_2 : controller.version_1) {
                const std::string file = (fs::path(group) / files.limit).string();
                const std::optional<std::uint64_t> limit = number_in(root + file);
                const std::optional<std::uint64_t> used = number_in(root + (fs::path(group) / files.used).string());
                if (!limit || !used || *limit >= no_limit) continue;
                const std::uint64_t caches = sum_of(root + group + "/memory.stat", files.caches);
                const std::uint64_t taken = *used - std::min(*used, caches);
                found.push_back({file, *limit, *limit - std::min(*limit, taken)});
            }
            if (group == hierarchy->top) break;
        }
    }
    return found;
}

MemoryPlan::MemoryPlan(std::string root) : root_(std::move(root)) {
    for (const HostPages pages : {HostPages::ordinary, HostPages::huge}) kinds_[pages].limits = group_limits(pages, root_);
}

void MemoryPlan::require_node(int numa_node, std::uint64_t bytes, HostPages pages) const {
    const std::string name = "NUMA node " + std::to_string(numa_node);
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
    const std::uint64_t on_node = bytes_in(root_ + file, {"MemFree:", "Inactive(file):", "SReclaimable:"});
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
