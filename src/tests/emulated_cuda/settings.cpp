#include "tests/emulated_cuda/settings.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>

namespace emulated_cuda {
namespace {

constexpr int launch_failure = 719;  // cudaErrorLaunchFailure: what a GPU that is lost mostly answers
constexpr int first_bus = 0x10;

[[noreturn]] void refuse(const std::string& words) {
    std::fprintf(stderr, "EMULATED_CUDA: %s\n", words.c_str());
    std::_Exit(2);
}

double number(const std::string& text) {
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    if (text.empty() || *end != '\0') refuse("'" + text + "' is not a number");
    return value;
}

std::vector<std::string> split(const std::string& text, char separator) {
    std::vector<std::string> parts;
    std::istringstream in(text);
    for (std::string part; std::getline(in, part, separator);) parts.push_back(part);
    return parts;
}

// "cudaMalloc:3:error=2", "latch@1:1:hang"
Fault fault(const std::string& text) {
    using Kind = Fault::Kind;
    static const std::map<std::string, Kind> kinds{{"error", Kind::error}, {"hang", Kind::hang}, {"abort", Kind::abort},
                                                   {"kill", Kind::kill},   {"lose", Kind::lose}, {"lose_later", Kind::lose_later},
                                                   {"stall", Kind::stall}, {"slow", Kind::slow}};
    const std::vector<std::string> parts = split(text, ':');
    if (parts.size() != 3) refuse("fault '" + text + "' is not CALL[@GPU]:COUNT:KIND[=ERROR]");
    Fault fault;
    const std::vector<std::string> who = split(parts[0], '@');
    fault.call = who[0];
    if (who.size() > 1) fault.device = static_cast<int>(number(who[1]));
    fault.count = static_cast<unsigned long>(number(parts[1]));
    const std::vector<std::string> what = split(parts[2], '=');
    const auto kind = kinds.find(what[0]);
    if (kind == kinds.end()) refuse("fault '" + text + "': unknown kind '" + what[0] + "'");
    fault.kind = kind->second;
    fault.error = what.size() > 1 ? static_cast<int>(number(what[1])) : launch_failure;
    return fault;
}

// "0:1:1e9"
std::pair<std::pair<int, int>, double> slow_pair(const std::string& text) {
    const std::vector<std::string> parts = split(text, ':');
    if (parts.size() != 3) refuse("slow pair '" + text + "' is not GPU:GPU:RATE");
    return {{static_cast<int>(number(parts[0])), static_cast<int>(number(parts[1]))}, number(parts[2])};
}

// Its pairs, from the variable itself or from the file that it names.
std::string text_of(const std::string& value) {
    if (value.empty() || value.find('=') != std::string::npos) return value;
    std::ifstream file(value);
    if (!file) refuse("the file '" + value + "' cannot be read");
    std::ostringstream all;
    all << file.rdbuf();
    return all.str();
}

Settings parse(std::string text) {
    Settings made;
    const std::map<std::string, std::function<void(const std::string&)>> keys{
        {"gpus", [&](const std::string& v) { made.gpus = static_cast<int>(number(v)); }},
        {"memory", [&](const std::string& v) { made.memory = static_cast<std::size_t>(number(v)); }},
        {"to_gpu", [&](const std::string& v) { made.to_gpu = number(v); }},
        {"to_host", [&](const std::string& v) { made.to_host = number(v); }},
        {"peer", [&](const std::string& v) { made.peer = number(v); }},
        {"slow", [&](const std::string& v) { made.slow.insert(slow_pair(v)); }},
        {"load_seconds", [&](const std::string& v) { made.load_seconds = number(v); }},
        {"start_seconds", [&](const std::string& v) { made.start_seconds = number(v); }},
        {"clock_drift", [&](const std::string& v) { made.clock_drift = number(v); }},
        {"peer_access", [&](const std::string& v) { made.peer_access = number(v) != 0; }},
        {"process_is_lost", [&](const std::string& v) { made.process_is_lost = number(v) != 0; }},
        {"count_error", [&](const std::string& v) { made.count_error = static_cast<int>(number(v)); }},
        {"refusing", [&](const std::string& v) { made.refusing = static_cast<int>(number(v)); }},
        {"refusal", [&](const std::string& v) { made.refusal = static_cast<int>(number(v)); }},
        {"nvlinks", [&](const std::string& v) { made.nvlinks = static_cast<int>(number(v)); }},
        {"other_processes", [&](const std::string& v) { made.other_processes = static_cast<int>(number(v)); }},
        {"most_gpus", [&](const std::string& v) { made.most_gpus = static_cast<std::size_t>(number(v)); }},
        {"mps_clients", [&](const std::string& v) { made.mps_clients = static_cast<int>(number(v)); }},
        {"hot", [&](const std::string& v) { made.hot = static_cast<int>(number(v)); }},
        {"confidential", [&](const std::string& v) { made.confidential = number(v) != 0; }},
        {"missing", [&](const std::string& v) { made.missing.push_back(static_cast<int>(number(v))); }},
        {"leave_out", [&](const std::string& v) { made.leave_out = static_cast<unsigned long>(number(v)); }},
        {"leave_out_latched", [&](const std::string& v) { made.leave_out_latched = static_cast<unsigned long>(number(v)); }},
        {"leave_out_each", [&](const std::string& v) { made.leave_out_each = static_cast<unsigned long>(number(v)); }},
        {"wrong", [&](const std::string& v) { made.wrong = static_cast<std::size_t>(number(v)); }},
        {"wrong_product", [&](const std::string& v) { made.wrong_product = static_cast<std::size_t>(number(v)); }},
        {"wrong_by", [&](const std::string& v) { made.wrong_by = number(v); }},
        {"wrong_only", [&](const std::string& v) { made.wrong_only = static_cast<unsigned long>(number(v)); }},
        {"fault", [&](const std::string& v) { made.faults.push_back(fault(v)); }},
        {"once", [&](const std::string& v) { made.once = v; }},
        {"in", [&](const std::string& v) { made.in = v; }},
        {"calls", [&](const std::string& v) { made.calls = v; }},
    };
    for (char& letter : text)
        if (letter == '\n') letter = ',';
    for (const std::string& pair : split(text, ',')) {
        if (pair.empty()) continue;
        const std::size_t equals = pair.find('=');
        const auto key = keys.find(pair.substr(0, equals));
        if (equals == std::string::npos || key == keys.end()) refuse("'" + pair + "' is none of its pairs KEY=VALUE");
        key->second(pair.substr(equals + 1));
    }
    return made;
}

}  // namespace

const Settings& settings() {
    static const Settings& read = *new Settings(parse([] {
        const char* value = std::getenv("EMULATED_CUDA");
        return text_of(value == nullptr ? "" : value);
    }()));
    return read;
}

std::string pci_address(int gpu) {
    char text[32];
    std::snprintf(text, sizeof text, "0000:%02x:00.0", static_cast<unsigned>(first_bus + gpu) & 0xffU);
    return text;
}

std::string uuid(int gpu) {
    char text[48];
    std::snprintf(text, sizeof text, "GPU-00000000-0000-0000-0000-%012d", gpu);
    return text;
}

}  // namespace emulated_cuda
