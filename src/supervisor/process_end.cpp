#include "supervisor/process_end.h"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <utility>

#include "memory/control_group.h"

namespace nearfar {
namespace {

constexpr std::pair<int, const char*> names[] = {{SIGABRT, "SIGABRT"}, {SIGBUS, "SIGBUS"},   {SIGFPE, "SIGFPE"},
                                                 {SIGHUP, "SIGHUP"},   {SIGILL, "SIGILL"},   {SIGINT, "SIGINT"},
                                                 {SIGKILL, "SIGKILL"}, {SIGPIPE, "SIGPIPE"}, {SIGQUIT, "SIGQUIT"},
                                                 {SIGSEGV, "SIGSEGV"}, {SIGTERM, "SIGTERM"}, {SIGXCPU, "SIGXCPU"}};

std::string signal_name(int signal) {
    for (const auto& [number, name] : names)
        if (number == signal) return name;
    return "signal " + std::to_string(signal);
}

// Where this process's cgroup counts its memory kills, or the machine does: a file with a line "oom_kill NUMBER"; empty: nowhere.
std::string memory_kill_file() {
    for (const GroupHierarchy& groups : group_hierarchies("memory")) {
        const std::string file = groups.own + (groups.version_2 ? "/memory.events" : "/memory.oom_control");
        if (access(file.c_str(), R_OK) == 0) return file;
    }
    return access("/proc/vmstat", R_OK) == 0 ? "/proc/vmstat" : "";
}

}  // namespace

std::string words_of_end(int status) {
    if (status == -1) return "ended, and how is not known";
    if (WIFEXITED(status)) return "ended with exit code " + std::to_string(WEXITSTATUS(status));
    const int signal = WTERMSIG(status);
    const std::string name = signal_name(signal);
    if (signal == SIGABRT) return "aborted (" + name + ")";
    if (signal == SIGSEGV || signal == SIGBUS || signal == SIGFPE || signal == SIGILL) return "crashed (" + name + ")";
    return "was killed (" + name + ")";
}

MemoryKills::MemoryKills() : file_(memory_kill_file()), before_(sum_in(file_, {"oom_kill"})) {}

std::string MemoryKills::grown() const { return sum_in(file_, {"oom_kill"}) > before_ ? file_ : ""; }

}  // namespace nearfar
