// Sets of CPUs: as Linux prints them, and as what a thread is bound to.
#pragma once

#include <string>
#include <vector>

namespace nearfar {

// "0-3,8" for {0, 1, 2, 3, 8}; the set must be ascending.
std::string cpu_list(const std::vector<int>& cpus);

// The CPUs that the calling thread may run on, as the kernel says now.
std::vector<int> cpus_in_effect();

// Binds the calling thread and returns the binding in effect; throws Prevented if the kernel refuses or gives another.
std::vector<int> bind_thread(const std::vector<int>& cpus);

// Lets the calling thread run wherever the cpuset allows, whatever the launcher bound it to.
void unbind_thread();

std::vector<int> intersection(const std::vector<int>& a, const std::vector<int>& b);

}  // namespace nearfar
