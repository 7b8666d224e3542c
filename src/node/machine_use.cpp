#include "node/machine_use.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "core/clock.h"
#include "node/proc_files.h"

namespace nearfar {
namespace {

constexpr double between_looks = 0.5;       // seconds
constexpr double between_full_looks = 2;    // at the processes of others, at least
constexpr double full_looks_share = 0.002;  // of one CPU's time, at most
constexpr std::size_t most_looks = 64;      // of a document
constexpr std::size_t most_busy = 3;
constexpr double least_busy = 0.01;  // CPUs

struct File {
    std::string text;
    uid_t user = 0;
};

std::optional<File> read_file(const std::string& path) {
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) return {};
    File found;
    struct stat facts {};
    if (fstat(file, &facts) == 0) found.user = facts.st_uid;
    char piece[16384];
    ssize_t got = 0;
    while ((got = ::read(file, piece, sizeof piece)) > 0) found.text.append(piece, static_cast<std::size_t>(got));
    close(file);
    if (got < 0) return {};
    return found;
}

// What a counter grew by; counters of Linux may go backwards by a little.
double grown(double before, double after) { return std::max(0.0, after - before); }

std::optional<double> grown(const std::optional<double>& before, const std::optional<double>& after) {
    if (!before || !after) return {};
    return grown(*before, *after);
}

template <typename T, typename Choose>
std::optional<T> either(const std::optional<T>& a, const std::optional<T>& b, const Choose& choose) {
    if (!a || !b) return a ? a : b;
    return choose(*a, *b);
}

// One look for two, the later one second.
MachineLook joined(const MachineLook& a, const MachineLook& b) {
    const auto most = [](double x, double y) { return std::max(x, y); };
    return {b.at,
            most(a.others, b.others),
            most(a.own, b.own),
            either(a.steal, b.steal, most),
            either(a.iowait, b.iowait, most),
            either(a.free_memory, b.free_memory, [](std::uint64_t x, std::uint64_t y) { return std::min(x, y); })};
}

}  // namespace

MachineUse::MachineUse(double begin, pid_t program, SystemFiles files)
    : begin_(begin), files_(std::move(files)), ticks_(static_cast<double>(sysconf(_SC_CLK_TCK))),
      session_(getsid(0)), own_{getpid(), program}, next_look_(begin), next_full_look_(begin) {
    for (pid_t process = program; process > 1;) {
        const std::optional<ProcessTimes> times =
            parse_process_times(text_of(files_.proc + "/" + std::to_string(process) + "/stat"), ticks_);
        process = times ? times->parent : 0;
        if (process > 1 && !starters_.insert(process).second) break;
    }
}

bool MachineUse::is_contained() const { return has_own_process_numbers(files_.proc); }

// Reads one process; false where it is there no more.
bool MachineUse::read(pid_t pid) {
    const std::optional<File> file = read_file(files_.proc + "/" + std::to_string(pid) + "/stat");
    std::optional<ProcessTimes> times;
    if (file) times = parse_process_times(file->text, ticks_);
    if (!times || times->pid != pid) {
        forget(pid);
        return false;
    }
    const auto known = processes_.find(pid);
    if (known != processes_.end() && known->second.times.started != times->started) {
        forget(pid);
        own_.erase(pid);
    }
    const bool is_of_session = times->session == session_;
    if (is_of_session || own_.count(times->parent) != 0) own_.insert(pid);
    const auto [place, is_new] = processes_.try_emplace(pid);
    // What was there when the first look began has used its time before.
    if (is_new && !has_looked_ && !is_of_session) place->second.before = times->seconds + times->reaped_seconds;
    place->second.times = *times;
    place->second.user = file->user;
    return true;
}

void MachineUse::keep_busiest(std::vector<Used>& processes) {
    std::sort(processes.begin(), processes.end(), [](const Used& a, const Used& b) { return a.seconds > b.seconds; });
    processes.resize(std::min(processes.size(), most_busy));
}

void MachineUse::forget(pid_t pid) {
    const auto known = processes_.find(pid);
    if (known == processes_.end()) return;
    const Known& process = known->second;
    if (!is_own(pid)) {
        ended_.push_back({pid, process.times.command, process.user, process.times.seconds - process.before});
        keep_busiest(ended_);
    }
    processes_.erase(known);
}

double MachineUse::own_seconds() const {
    double seconds = 0;
    for (const auto& [pid, process] : processes_) {
        if (own_.count(pid) != 0)
            seconds += process.times.seconds + process.times.reaped_seconds - process.before;
        else if (starters_.count(pid) != 0)
            seconds += process.times.seconds;
    }
    return seconds;
}

void MachineUse::look_at_processes(double time, bool started) {
    const bool full = time >= next_full_look_;
    std::vector<pid_t> wanted;
    for (const auto& [pid, process] : processes_)
        if (full || is_own(pid)) wanted.push_back(pid);
    if (full || started)
        for (const pid_t pid : numbered(files_.proc))
            if (processes_.count(pid) == 0) wanted.push_back(pid);
    const double begin = now();
    for (const pid_t pid : wanted) read(pid);
    if (full) next_full_look_ = time + std::max(between_full_looks, (now() - begin) / full_looks_share);
}

void MachineUse::look(double time) {
    Reading reading;
    reading.cpu = parse_cpu_times(text_of(files_.proc + "/stat"), ticks_);
    reading.free_memory = parse_memory(text_of(files_.proc + "/meminfo"), "MemAvailable");
    const std::uint64_t forks = reading.cpu ? reading.cpu->forks : 0;
    look_at_processes(time, forks == 0 || forks != forks_);
    if (!has_looked_)
        for (const auto& [node, bytes] : free_of_nodes()) memory_.push_back({node, bytes, bytes});
    forks_ = forks;
    has_looked_ = true;
    reading.own = own_seconds();
    reading.time = time;
    readings_.push_back(reading);
    next_look_ = time + between_looks;
}

MachineSeen MachineUse::end(double time) {
    next_full_look_ = time;
    look(time);
    // Clocks tick too seldom for a short look.
    const std::size_t count = readings_.size();
    if (count > 2 && time - readings_[count - 2].time < between_looks / 2) readings_.erase(readings_.end() - 2);
    for (const auto& [node, bytes] : free_of_nodes())
        for (NumaMemory& memory : memory_)
            if (memory.numa_node == node) memory.after = bytes;
    MachineSeen seen;
    seen.looks = looks();
    if (!seen.looks.empty()) {
        seen.mean = between(readings_.front(), readings_.back());
        for (const MachineLook& look : seen.looks) seen.mean->free_memory = joined(*seen.mean, look).free_memory;
    }
    seen.busiest = busiest();
    seen.memory = memory_;
    seen.missing = missing();
    return seen;
}

std::vector<std::pair<int, std::uint64_t>> MachineUse::free_of_nodes() const {
    std::vector<std::pair<int, std::uint64_t>> found;
    for (const int node : numbered(files_.numa_nodes, "node"))
        if (const auto bytes = parse_memory(text_of(files_.numa_nodes + "/node" + std::to_string(node) + "/meminfo"), "MemFree"))
            found.emplace_back(node, *bytes);
    return found;
}

MachineLook MachineUse::between(const Reading& first, const Reading& last) const {
    const double seconds = last.time - first.time;
    const auto cpus = [seconds](std::optional<double> used) {
        if (used) *used /= seconds;
        return used;
    };
    MachineLook look;
    look.at = last.time - begin_;
    const double own = grown(first.own, last.own);
    look.own = own / seconds;
    look.others = std::max(0.0, grown(first.cpu->busy, last.cpu->busy) - own) / seconds;
    look.steal = cpus(grown(first.cpu->steal, last.cpu->steal));
    look.iowait = cpus(grown(first.cpu->iowait, last.cpu->iowait));
    look.free_memory = last.free_memory;
    return look;
}

std::vector<MachineLook> MachineUse::looks() const {
    std::vector<MachineLook> all;
    for (std::size_t i = 1; i < readings_.size(); ++i)
        if (readings_[i - 1].cpu && readings_[i].cpu && readings_[i].time > readings_[i - 1].time)
            all.push_back(between(readings_[i - 1], readings_[i]));
    const std::size_t together = (all.size() + most_looks - 1) / most_looks;
    std::vector<MachineLook> few;
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (i % together == 0)
            few.push_back(all[i]);
        else
            few.back() = joined(few.back(), all[i]);
    }
    return few;
}

std::vector<BusyProcess> MachineUse::busiest() const {
    const double seconds = readings_.back().time - readings_.front().time;
    if (seconds <= 0) return {};
    std::vector<Used> all = ended_;
    for (const auto& [pid, process] : processes_)
        if (!is_own(pid)) all.push_back({pid, process.times.command, process.user, process.times.seconds - process.before});
    keep_busiest(all);
    const std::string users = text_of(files_.users);
    std::vector<BusyProcess> found;
    for (const Used& process : all)
        if (process.seconds / seconds >= least_busy)
            found.push_back({process.pid, process.command, user_name(users, process.user), process.seconds / seconds});
    return found;
}

std::vector<NotSeen> MachineUse::missing() const {
    std::vector<NotSeen> found;
    const auto is_missing = [&](const char* what, const std::string& why) { found.push_back({what, why}); };
    const std::string file = files_.proc + "/stat";
    const std::optional<CpuTimes>& first = readings_.front().cpu;
    const std::optional<CpuTimes>& last = readings_.back().cpu;
    if (!first || !last)
        is_missing("looks", file + " cannot be read");
    else if (readings_.back().time - readings_.front().time > between_looks &&
             last->busy + last->idle <= first->busy + first->idle)
        is_missing("looks", file + " does not count");
    if (last && !last->steal) is_missing("steal", file + " does not count it");
    if (last && !last->iowait) is_missing("iowait", file + " does not count it");
    if (!readings_.back().free_memory) is_missing("free_memory", files_.proc + "/meminfo says no MemAvailable");
    if (memory_.empty()) is_missing("memory", files_.numa_nodes + " names no NUMA node");
    if (text_of(files_.proc + "/1/stat").empty())
        is_missing("busiest", "processes of other users are hidden (" + files_.proc + " is mounted with hidepid)");
    else if (is_contained())
        is_missing("busiest", "this is a container: processes outside of it have no names here");
    return found;
}

}  // namespace nearfar
