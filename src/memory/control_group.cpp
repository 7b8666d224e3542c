#include "memory/control_group.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

namespace nearfar {
namespace {

namespace fs = std::filesystem;

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

// From a line of /proc/self/mountinfo: "35 31 0:32 /part /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory".
std::optional<GroupHierarchy> hierarchy_of(const std::string& line, const std::string& root, const std::string& controller) {
    const std::size_t dash = line.find(" - ");
    if (dash == std::string::npos) return {};
    std::string skipped, part, type, options;
    GroupHierarchy found;
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

}  // namespace

std::vector<GroupHierarchy> group_hierarchies(const std::string& controller, const std::string& root) {
    std::vector<GroupHierarchy> found;
    std::ifstream mounts(root + "/proc/self/mountinfo");
    for (std::string line; std::getline(mounts, line);)
        if (const std::optional<GroupHierarchy> hierarchy = hierarchy_of(line, root, controller)) found.push_back(*hierarchy);
    return found;
}

std::uint64_t sum_in(const std::string& path, const std::vector<std::string>& wanted) {
    std::ifstream file(path);
    std::string name;
    std::uint64_t number = 0;
    std::uint64_t sum = 0;
    while (file >> name >> number)
        if (std::find(wanted.begin(), wanted.end(), name) != wanted.end()) sum += number;
    return sum;
}

}  // namespace nearfar
