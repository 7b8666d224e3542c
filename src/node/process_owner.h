// Whose a process is that the driver names by its number.
#pragma once

#include <string>

namespace nearfar {

// Whether process numbers here are not the machine's: the driver's numbers then name nobody in /proc.
bool has_own_process_numbers(const std::string& proc = "/proc");

// The user who runs a process of that number on the machine; empty where it has ended, or nothing says so.
std::string owner_of(unsigned pid);

}  // namespace nearfar
