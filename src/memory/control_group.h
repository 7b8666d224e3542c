// Where the control groups of this process stand.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace nearfar {

// A mounted hierarchy of groups: where its top is, and the folder of this process's group in it.
struct GroupHierarchy {
    std::string top;
    std::string own;
    bool version_2 = false;
};

// Those that have a controller ("memory"): of version 1 its own, and that of version 2. `root` stands before every path that is read,
// and not before those that are returned.
std::vector<GroupHierarchy> group_hierarchies(const std::string& controller, const std::string& root = "");

// The sum of the lines "name number" of a group's file, or of another such as /proc/vmstat, whose names are wanted.
std::uint64_t sum_in(const std::string& file, const std::vector<std::string>& wanted);

}  // namespace nearfar
