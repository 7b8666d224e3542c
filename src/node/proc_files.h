// What Linux' files of /proc say of processes, CPU time and memory; parsers take their text.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace nearfar {

// What a file holds; empty where it cannot be read.
std::string text_of(const std::string& path);

// The numbers behind `prefix` of a folder's entries, ascending.
std::vector<int> numbered(const std::string& folder, const std::string& prefix = "");

// CPU seconds of all CPUs since boot.
struct CpuTimes {
    double busy = 0;  // of programs and of the kernel for them; interrupts are not in it
    double idle = 0;
    std::optional<double> iowait;  // idle while a disk was waited for
    std::optional<double> steal;   // wanted, while the hypervisor ran something else
    std::uint64_t forks = 0;       // processes and threads started since boot; 0: not said
};

// Of /proc/stat, whose clock ticks so often a second. Nothing where its first line is none of CPU times.
std::optional<CpuTimes> parse_cpu_times(const std::string& text, double ticks);

// A process as /proc/PID/stat has it.
struct ProcessTimes {
    pid_t pid = 0;
    std::string command;  // its name, fifteen characters at most
    char state = 0;       // Z, X: it has ended
    pid_t parent = 0;
    pid_t session = 0;
    double seconds = 0;         // of CPU, all its threads
    double reaped_seconds = 0;  // of CPU, of its children that ended and were waited for, with theirs
    std::uint64_t started = 0;  // clock ticks since boot: with `pid` it names the process
};

// Nothing for what is no such file. The name may hold anything.
std::optional<ProcessTimes> parse_process_times(const std::string& text, double ticks);

// The parent of a process; 0 where there is no such process.
pid_t parent_of(pid_t process);

// Bytes of a line "NAME: 123 kB" of /proc/meminfo or of a NUMA node's meminfo ("Node 0 NAME: 123 kB").
std::optional<std::uint64_t> parse_memory(const std::string& text, const std::string& name);

// The name of a user in the text of /etc/passwd; the number where it is not in there.
std::string user_name(const std::string& passwd, uid_t user);

// Whether process numbers here are not the machine's: the driver's numbers then name nobody in /proc.
bool has_own_process_numbers(const std::string& proc = "/proc");

// The user who runs a process of that number on the machine; empty where it has ended, or nothing says so.
std::string owner_of(unsigned pid);

}  // namespace nearfar
