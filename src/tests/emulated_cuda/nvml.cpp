// The part of NVML that the programs ask, as libnvidia-ml.so.1: of the emulated GPUs.
#include <cstdint>
#include <cstdio>
#include <string>

#include "tests/emulated_cuda/settings.h"

namespace {

using emulated_cuda::settings;

constexpr int success = 0;
constexpr int not_found = 6;
constexpr int insufficient_size = 7;
constexpr unsigned remote_switch = 2;
constexpr unsigned nvlink_4 = 6;
constexpr unsigned gen = 5;
constexpr unsigned width = 16;

struct PciInfo {
    char legacy_bus_id[16];
    unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
    char bus_id[32];
};

struct Memory {
    unsigned long long total, free, used;
};

struct Process {
    unsigned pid;
    unsigned long long memory;
    unsigned gpu_instance, compute_instance;
};

struct ConfidentialState {
    unsigned environment, feature, developer_tools;
};

// A handle is the GPU's number plus one.
int number(void* device) { return static_cast<int>(reinterpret_cast<std::intptr_t>(device)) - 1; }

bool is_hot(void* device) { return settings().hot == number(device); }

int write(char* text, unsigned length, const std::string& words) {
    std::snprintf(text, length, "%s", words.c_str());
    return success;
}

int write(unsigned* value, unsigned number) {
    *value = number;
    return success;
}

}  // namespace

extern "C" {

int nvmlInit_v2() { return success; }
int nvmlShutdown() { return success; }
const char* nvmlErrorString(int code) { return code == not_found ? "Not Found" : "an error"; }
int nvmlSystemGetDriverVersion(char* text, unsigned length) { return write(text, length, "emulated"); }

int nvmlDeviceGetHandleByPciBusId_v2(const char* pci, void** device) {
    for (int gpu = 0; gpu < settings().gpus; ++gpu) {
        if (pci != emulated_cuda::pci_address(gpu)) continue;
        *device = reinterpret_cast<void*>(static_cast<std::intptr_t>(gpu + 1));
        return success;
    }
    return not_found;
}

int nvmlDeviceGetCount_v2(unsigned* count) { return write(count, static_cast<unsigned>(settings().gpus)); }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
    if (index >= static_cast<unsigned>(settings().gpus)) return not_found;
    *device = reinterpret_cast<void*>(static_cast<std::intptr_t>(index + 1));
    return success;
}
int nvmlDeviceGetPciInfo_v3(void* device, PciInfo* info) {
    return write(info->bus_id, sizeof info->bus_id, emulated_cuda::pci_address(number(device)));
}
// Link 2 of each GPU counts a replay at each question.
int nvmlDeviceGetNvLinkErrorCounter(void*, unsigned link, unsigned counter, unsigned long long* count) {
    static unsigned long long replays = 0;
    if (static_cast<int>(link) >= settings().nvlinks) return not_found;
    *count = link == 2 && counter == 0 ? ++replays : 0;
    return success;
}

int nvmlDeviceGetUUID(void* device, char* text, unsigned length) {
    return write(text, length, emulated_cuda::uuid(number(device)));
}
int nvmlDeviceGetName(void*, char* text, unsigned length) { return write(text, length, "Emulated GPU"); }
int nvmlDeviceGetMaxPcieLinkGeneration(void*, unsigned* value) { return write(value, gen); }
int nvmlDeviceGetMaxPcieLinkWidth(void*, unsigned* value) { return write(value, width); }
int nvmlDeviceGetCurrPcieLinkGeneration(void*, unsigned* value) { return write(value, gen); }
int nvmlDeviceGetCurrPcieLinkWidth(void*, unsigned* value) { return write(value, width); }
int nvmlDeviceGetPcieReplayCounter(void*, unsigned* value) { return write(value, 0); }
int nvmlDeviceGetTemperature(void* device, int, unsigned* value) { return write(value, is_hot(device) ? 91 : 40); }
int nvmlDeviceGetClockInfo(void* device, int, unsigned* value) { return write(value, is_hot(device) ? 600 : 1500); }
int nvmlDeviceGetPowerUsage(void*, unsigned* value) { return write(value, 500'000); }

int nvmlDeviceGetNvLinkState(void*, unsigned link, int* state) {
    *state = static_cast<int>(link) < settings().nvlinks ? 1 : 0;
    return success;
}
int nvmlDeviceGetNvLinkVersion(void*, unsigned, unsigned* version) { return write(version, nvlink_4); }
int nvmlDeviceGetNvLinkRemoteDeviceType(void*, unsigned, unsigned* type) { return write(type, remote_switch); }

int nvmlDeviceGetMemoryInfo(void*, Memory* memory) {
    *memory = {settings().memory, settings().memory, 0};
    return success;
}

// The Multi-Process Service's server has the number 1, its clients and other processes numbers from 2 on.
int nvmlDeviceGetComputeRunningProcesses_v3(void*, unsigned* count, Process* found) {
    const bool server = settings().mps_clients >= 0;
    const unsigned all = static_cast<unsigned>(settings().other_processes) + (server ? 1 : 0);
    if (found == nullptr || *count < all) return write(count, all), all > 0 ? insufficient_size : success;
    for (unsigned i = 0; i < all; ++i) found[i] = {i + (server ? 1 : 2), 0, 0, 0};
    return write(count, all);
}
int nvmlDeviceGetMPSComputeRunningProcesses_v3(void*, unsigned* count, Process* found) {
    const unsigned all = settings().mps_clients > 0 ? static_cast<unsigned>(settings().mps_clients) : 0;
    if (found == nullptr || *count < all) return write(count, all), all > 0 ? insufficient_size : success;
    for (unsigned i = 0; i < all; ++i) found[i] = {i + 2, 0, 0, 0};
    return write(count, all);
}
int nvmlSystemGetProcessName(unsigned process, char* text, unsigned length) {
    return write(text, length, process == 1 ? "/usr/bin/nvidia-cuda-mps-server" : "python3");
}

int nvmlSystemGetConfComputeState(ConfidentialState* state) {
    *state = {0, settings().confidential ? 1U : 0U, 0};
    return success;
}

int nvmlDeviceGetTotalEccErrors(void*, int, int, unsigned long long* count) {
    *count = 0;
    return success;
}

// The power limit, and of a hot one its hardware.
int nvmlDeviceGetCurrentClocksThrottleReasons(void* device, unsigned long long* bits) {
    *bits = is_hot(device) ? 0x4c : 0x4;
    return success;
}
}
