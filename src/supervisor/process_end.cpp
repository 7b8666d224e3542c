#include "supervisor/process_end.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <utility>

namespace nearfar {
namespace {

constexpr std::pair<int, const char*> names[] = {{SIGABRT, "SIGABRT"}, {SIGBUS, "SIGBUS"},   {SIGFPE, "SIGFPE"},
                                                 {SIGHUP, "SIGHUP"},   {SIGILL, "SIGILL"},   {SIGINT, "SIGINT"},
                                                 {SIGKILL, "SIGKILL"}, {SIGPIPE, "SIGPIPE"}, {SIGQUIT, "SIGQUIT"},
                                                 {SIGSEGV, "SIGSEGV"}, {SIGTERM, "SIGTERM"}, {SIGXCPU, "SIGXCPU"}};

constexpr double a_tick = 0.1;  // seconds, at the most: what the kernel counts by is coarser than what it says was used

std::string signal_name(int signal) {
    for (const auto& [number, name] : names)
        if (number == signal) return name;
    return "signal " + std::to_string(signal);
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

bool at_cpu_limit(int status, double cpu_seconds) {
    if (!WIFSIGNALED(status)) return false;
    rlimit limit{};
    if (WTERMSIG(status) == SIGXCPU) return true;
    return WTERMSIG(status) == SIGKILL && getrlimit(RLIMIT_CPU, &limit) == 0 && limit.rlim_max != RLIM_INFINITY &&
           cpu_seconds > static_cast<double>(limit.rlim_max) - a_tick;
}

pid_t parent_of(pid_t process) {
    std::ifstream lines("/proc/" + std::to_string(process) + "/status");
    for (std::string line; std::getline(lines, line);)
        if (line.rfind("PPid:", 0) == 0) return static_cast<pid_t>(std::atoi(line.c_str() + 5));
    return 0;
}

std::string memory_kill_file() {
    std::ifstream groups("/proc/self/cgroup");
    for (std::string line; std::getline(groups, line);) {
        const std::size_t first = line.find(':');
        const std::size_t second = line.find(':', first + 1);
        if (second == std::string::npos) continue;
        const std::string controllers = line.substr(first + 1, second - first - 1);
        const std::string path = line.substr(second + 1);
        std::string file;
        if (controllers.empty()) file = "/sys/fs/cgroup" + path + "/memory.events";
        if (controllers == "memory") file = "/sys/fs/cgroup/memory" + path + "/memory.oom_control";
        if (!file.empty() && access(file.c_str(), R_OK) == 0) return file;
    }
    return access("/proc/vmstat", R_OK) == 0 ? "/proc/vmstat" : "";
}

long memory_kills_in(const std::string& file) {
    std::ifstream lines(file);
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        std::string name;
        long count = 0;
        if (words >> name >> count && name == "oom_kill") return count;
    }
    return 0;
}

MemoryKills::MemoryKills() : file_(memory_kill_file()), before_(memory_kills_in(file_)) {}

std::string MemoryKills::grown() const { return memory_kills_in(file_) > before_ ? file_ : ""; }

}  // namespace nearfar
