#include "node/proc_files.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>

namespace nearfar {

std::string text_of(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<int> numbered(const std::string& folder, const std::string& prefix) {
    std::vector<int> numbers;
    DIR* const opened = opendir(folder.c_str());
    if (opened == nullptr) return numbers;
    while (const dirent* entry = readdir(opened)) {
        const std::string name = entry->d_name;
        if (name.rfind(prefix, 0) != 0) continue;
        char* end = nullptr;
        const long number = std::strtol(name.c_str() + prefix.size(), &end, 10);
        if (end != name.c_str() + prefix.size() && *end == '\0') numbers.push_back(static_cast<int>(number));
    }
    closedir(opened);
    std::sort(numbers.begin(), numbers.end());
    return numbers;
}

std::optional<CpuTimes> parse_cpu_times(const std::string& text, double ticks) {
    std::istringstream lines(text);
    std::string line;
    std::getline(lines, line);
    std::istringstream words(line);
    std::string name;
    words >> name;
    if (name != "cpu") return {};
    // user nice system idle iowait irq softirq steal; older kernels have fewer, and guests are in user already
    std::array<double, 8> numbers{};
    std::size_t count = 0;
    for (std::uint64_t number = 0; count < numbers.size() && words >> number; ++count)
        numbers[count] = static_cast<double>(number) / ticks;
    if (count < 4) return {};
    CpuTimes times;
    times.busy = numbers[0] + numbers[1] + numbers[2];
    times.idle = numbers[3];
    if (count > 4) times.iowait = numbers[4];
    if (count > 7) times.steal = numbers[7];
    while (std::getline(lines, line))
        if (line.rfind("processes ", 0) == 0) std::istringstream(line.substr(10)) >> times.forks;
    return times;
}

std::optional<ProcessTimes> parse_process_times(const std::string& text, double ticks) {
    const std::size_t open = text.find('(');
    const std::size_t close = text.rfind(')');
    if (open == std::string::npos || close == std::string::npos || close < open) return {};
    ProcessTimes process;
    process.command = text.substr(open + 1, close - open - 1);
    std::istringstream before(text.substr(0, open));
    std::istringstream behind(text.substr(close + 1));
    std::int64_t group = 0;
    if (!(before >> process.pid) || !(behind >> process.state >> process.parent >> group >> process.session)) return {};
    std::array<std::int64_t, 16> numbers{};  // from the terminal on
    for (std::int64_t& number : numbers)
        if (!(behind >> number)) return {};
    process.seconds = static_cast<double>(numbers[7] + numbers[8]) / ticks;
    process.reaped_seconds = static_cast<double>(numbers[9] + numbers[10]) / ticks;
    process.started = static_cast<std::uint64_t>(numbers[15]);
    return process;
}

pid_t parent_of(pid_t process) {
    const auto times = parse_process_times(text_of("/proc/" + std::to_string(process) + "/stat"), 1);
    return times ? times->parent : 0;
}

std::optional<std::uint64_t> parse_memory(const std::string& text, const std::string& name) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        const std::size_t place = line.find(name + ":");
        if (place == std::string::npos || (place > 0 && line[place - 1] != ' ')) continue;
        std::istringstream words(line.substr(place + name.size() + 1));
        std::uint64_t kib = 0;
        if (words >> kib) return kib * 1024;
    }
    return {};
}

std::string user_name(const std::string& passwd, uid_t user) {
    std::istringstream lines(passwd);
    for (std::string line; std::getline(lines, line);) {
        const std::size_t name_end = line.find(':');
        const std::size_t number = line.find(':', name_end == std::string::npos ? name_end : name_end + 1);
        if (number == std::string::npos) continue;
        if (line.compare(number + 1, line.find(':', number + 1) - number - 1, std::to_string(user)) == 0)
            return line.substr(0, name_end);
    }
    return std::to_string(user);
}

bool has_own_process_numbers(const std::string& proc) {
    char name[64] = "";
    const ssize_t length = readlink((proc + "/self/ns/pid").c_str(), name, sizeof name - 1);
    return length > 0 && std::string(name) != "pid:[4026531836]";
}

std::string owner_of(unsigned pid) {
    struct stat facts {};
    if (has_own_process_numbers() || stat(("/proc/" + std::to_string(pid)).c_str(), &facts) != 0) return {};
    return user_name(text_of("/etc/passwd"), facts.st_uid);
}

}  // namespace nearfar
