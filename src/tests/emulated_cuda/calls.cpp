#include "tests/emulated_cuda/calls.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "tests/emulated_cuda/settings.h"

namespace emulated_cuda {
namespace {

constexpr std::size_t list_bytes = 4096;
constexpr std::size_t line_bytes = 48;

bool is_task() {
    std::ifstream file("/proc/self/cmdline", std::ios::binary);
    const std::string words((std::istreambuf_iterator<char>(file)), {});
    return words.find("--as-task") != std::string::npos;
}

bool faults_are_meant_here() {
    const std::string& in = settings().in;
    return in.empty() || (in == "task") == is_task();
}

// The list of calls is mapped from its file: it is whole however the process ends.
class Counts {
public:
    Counts() : meant_here_(faults_are_meant_here()) {
        if (settings().calls.empty()) return;
        const std::string name = settings().calls + "." + std::to_string(getpid());
        const int file = open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
        if (file < 0 || ftruncate(file, list_bytes) != 0) return;
        void* mapped = mmap(nullptr, list_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        close(file);
        if (mapped != MAP_FAILED) list_ = static_cast<char*>(mapped);
    }

    unsigned long count(const std::string& name, int device) {
        const std::lock_guard<std::mutex> lock(mutex_);
        ++of_device_[{name, device}];
        ++of_device_[{"*", device}];
        ++all_["*"];
        const unsigned long sum = ++all_[name];
        if (list_ != nullptr) write(name, sum);
        return sum;
    }

    const Fault* fault(const std::string& name, int device) {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (!meant_here_) return nullptr;
        for (const Fault& fault : settings().faults) {
            if (fault.call != "*" && fault.call != name) continue;
            if (fault.device && *fault.device != device) continue;
            const unsigned long so_far = fault.device ? of_device_[{fault.call, device}] : all_[fault.call];
            if ((fault.count == 0 || fault.count == so_far) && is_first()) return &fault;
        }
        return nullptr;
    }

private:
    std::mutex mutex_;
    const bool meant_here_;
    std::map<std::pair<std::string, int>, unsigned long> of_device_;
    std::map<std::string, unsigned long> all_;
    std::map<std::string, std::size_t> lines_;
    char* list_ = nullptr;

    static bool is_first() {
        if (settings().once.empty()) return true;
        const int file = open(settings().once.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644);
        if (file < 0) return false;
        close(file);
        return true;
    }

    void write(const std::string& name, unsigned long sum) {
        const std::size_t line = lines_.emplace(name, lines_.size()).first->second;
        if ((line + 1) * line_bytes > list_bytes) return;
        char text[line_bytes + 1];
        std::snprintf(text, sizeof text, "%-36s%11lu\n", name.c_str(), sum);
        std::memcpy(list_ + line * line_bytes, text, line_bytes);
    }
};

Counts& counts() {
    static Counts& all = *new Counts;
    return all;
}

}  // namespace

Verdict count_call(const char* name, int device) {
    counts().count(name, device);
    const Fault* fault = counts().fault(name, device);
    if (fault == nullptr) return {};
    const auto error = static_cast<cudaError_t>(fault->error);
    Verdict verdict;
    switch (fault->kind) {
        case Fault::Kind::error: verdict.error = error; break;
        case Fault::Kind::hang:
            for (;;) pause();
        case Fault::Kind::abort: std::abort();
        case Fault::Kind::kill: raise(SIGKILL); break;
        case Fault::Kind::lose: verdict.lose = error; break;
        case Fault::Kind::lose_later:
            verdict.lose = error;
            verdict.later = true;
            break;
        case Fault::Kind::slow: verdict.slower = fault->error; break;
        case Fault::Kind::stall: verdict.stall = true; break;
    }
    return verdict;
}

namespace {

std::atomic<bool> has_latched{false};

}  // namespace

void note_latch() { has_latched = true; }

bool leaves_out_copy() {
    static std::atomic<unsigned long> copies{0};
    static std::atomic<unsigned long> latched_copies{0};
    const unsigned long number = ++copies;
    if (has_latched && ++latched_copies == settings().leave_out_latched) return true;
    return number == settings().leave_out || (settings().leave_out_each != 0 && number % settings().leave_out_each == 0);
}

}  // namespace emulated_cuda
