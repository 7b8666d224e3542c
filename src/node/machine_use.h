// Who uses this machine while something is measured on it: CPU time of the run and of others, and free memory, looked at again and again.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "node/proc_files.h"

namespace nearfar {

// What was used since the look before, in CPUs (CPU seconds per second).
struct MachineLook {
    double at = 0;      // seconds since the run began
    double others = 0;  // by processes that are not of the run
    double own = 0;
    std::optional<double> steal;
    std::optional<double> iowait;
    std::optional<std::uint64_t> free_memory;  // bytes that programs could have (MemAvailable), at its end
};

// A process of others, and what it used on the average of the whole run.
struct BusyProcess {
    pid_t pid = 0;
    std::string command;
    std::string user;
    double cpus = 0;
};

struct NumaMemory {
    int numa_node = 0;
    std::uint64_t before = 0;  // free bytes
    std::uint64_t after = 0;
};

struct NotSeen {
    std::string what;  // a key of the document
    std::string why;
};

struct MachineSeen {
    std::vector<MachineLook>
        looks;  // few enough for a document: where one stands for several, it has the most of each, and the least memory
    std::optional<MachineLook> mean;  // over the whole run, its memory the least
    std::vector<BusyProcess> busiest;
    std::vector<NumaMemory> memory;
    std::vector<NotSeen> missing;
};

struct SystemFiles {
    std::string proc = "/proc";
    std::string numa_nodes = "/sys/devices/system/node";
    std::string users = "/etc/passwd";
};

// Of the run are all processes of this process's session, those that are added, their children, and, without their other
// children, those that started `program`.
class MachineUse {
public:
    // `begin` and the times of all looks are of one clock that never jumps. `program`: the process that a user started.
    MachineUse(double begin, pid_t program, SystemFiles files = {});

    // A process of the run in another session.
    void add_own(pid_t process) { own_.insert(process); }
    bool is_own(pid_t process) const { return own_.count(process) != 0 || starters_.count(process) != 0; }
    // Processes are those of a container: others outside of it have no names here.
    bool is_contained() const;

    // Twice a second; the first at once.
    bool is_due(double time) const { return time >= next_look_; }
    void look(double time);
    // The last look, however soon after the one before it, and all that was seen.
    MachineSeen end(double time);

private:
    struct Known {
        ProcessTimes times;
        uid_t user = 0;
        double before = 0;  // its CPU seconds that are not of the run's time
    };
    // What a process of others used, in CPU seconds.
    struct Used {
        pid_t pid = 0;
        std::string command;
        uid_t user = 0;
        double seconds = 0;
    };
    struct Reading {
        double time = 0;
        std::optional<CpuTimes> cpu;
        double own = 0;  // CPU seconds
        std::optional<std::uint64_t> free_memory;
    };

    double begin_;
    SystemFiles files_;
    double ticks_;
    pid_t session_;
    std::set<pid_t> own_;
    std::set<pid_t> starters_;
    std::map<pid_t, Known> processes_;
    std::vector<Used> ended_;  // of others
    std::vector<Reading> readings_;
    std::vector<NumaMemory> memory_;
    std::uint64_t forks_ = 0;
    double next_look_;
    double next_full_look_;
    bool has_looked_ = false;

    void look_at_processes(double time, bool started);
    bool read(pid_t pid);
    void forget(pid_t pid);
    static void keep_busiest(std::vector<Used>& processes);
    double own_seconds() const;
    std::vector<std::pair<int, std::uint64_t>> free_of_nodes() const;
    MachineLook between(const Reading& first, const Reading& last) const;
    std::vector<MachineLook> looks() const;
    std::vector<BusyProcess> busiest() const;
    std::vector<NotSeen> missing() const;
};

}  // namespace nearfar
