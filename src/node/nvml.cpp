#include "node/nvml.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>

#include "node/gpu_vendor.h"
#include "node/node.h"

namespace nearfar {
namespace {

// The few values and shapes of nvml.h that are used here; they are part of its stable interface.
constexpr int success = 0;
constexpr int gpu_is_lost = 15;
constexpr unsigned most_nvlinks = 36;  // of any GPU so far; those that one lacks are refused
constexpr unsigned remote_switch = 2;
const char* const remote_is_switch = "switch";

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

struct FieldValue {
    unsigned field, scope;
    long long timestamp, latency;
    int type, result;
    unsigned long long value;
};

struct ConfidentialState {
    unsigned environment, feature, developer_tools;
};

using Device = void*;

struct ThrottleReason {
    unsigned long long bit;
    const char* name;
};

constexpr std::array<ThrottleReason, 7> throttles{{{0x2, "applications_clocks"},
                                                   {0x4, "sw_power_cap"},
                                                   {0x8, "hw_slowdown"},
                                                   {0x10, "sync_boost"},
                                                   {0x20, "sw_thermal"},
                                                   {0x40, "hw_thermal"},
                                                   {0x80, "hw_power_brake"}}};

// By NVML's numbers of them.
constexpr std::array<const char*, 5> nvlink_counters{"nvlink_replays", "nvlink_recoveries", "nvlink_crc_flit_errors",
                                                     "nvlink_crc_data_errors", "nvlink_ecc_data_errors"};

// NVML counts NVLink's versions (1.0, 2.0, 2.2, 3.0, 3.1, 4.0, 5.0) from 1 on; people count generations.
std::optional<int> nvlink_generation(unsigned version) {
    constexpr std::array<int, 9> generations{0, 1, 2, 2, 3, 3, 4, 5, 6};
    if (version == 0 || version >= generations.size()) return {};
    return generations[version];
}

}  // namespace

template <typename F>
F* Nvml::symbol(const char* name) const {
    return library_ == nullptr ? nullptr : reinterpret_cast<F*>(dlsym(library_, name));
}

template <typename... Arguments>
bool Nvml::answers(const char* name, Arguments... arguments) const {
    auto* function = symbol<int(Arguments...)>(name);
    return function != nullptr && function(arguments...) == success;
}

std::optional<int> Nvml::number_of(void* device, const char* name) const {
    unsigned number = 0;
    if (device == nullptr || !answers(name, device, &number)) return {};
    return static_cast<int>(number);
}

Nvml::Nvml() : library_(gpu_vendor.is_nvidia ? dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL) : nullptr) {
    if (library_ == nullptr) {
        trouble_ = "libnvidia-ml.so.1 is not on this machine: no NVIDIA driver";
        return;
    }
    auto* init = symbol<int()>("nvmlInit_v2");
    const int result = init == nullptr ? -1 : init();
    if (result == success) return;
    auto* words = symbol<const char*(int)>("nvmlErrorString");
    trouble_ = std::string("NVML does not start: ") + (words != nullptr ? words(result) : "unknown");
    dlclose(library_);
    library_ = nullptr;
}

Nvml::~Nvml() {
    if (library_ == nullptr) return;
    if (auto* shutdown = symbol<int()>("nvmlShutdown")) shutdown();
    dlclose(library_);
}

void* Nvml::device(const std::string& pci, int* result) const {
    Device found = nullptr;
    auto* query = symbol<int(const char*, Device*)>("nvmlDeviceGetHandleByPciBusId_v2");
    const int code = query == nullptr ? -1 : query(pci.c_str(), &found);
    if (result != nullptr) *result = code;
    return code == success ? found : nullptr;
}

std::string Nvml::driver_version() const {
    char version[96] = "";
    return answers("nvmlSystemGetDriverVersion", &version[0], unsigned{sizeof version}) ? version : "";
}

NvmlGpu Nvml::gpu(const std::string& pci) const {
    NvmlGpu gpu;
    if (!available()) {
        gpu.trouble = trouble_;
        return gpu;
    }
    int result = success;
    const Device handle = device(pci, &result);
    if (handle == nullptr) {
        auto* words = symbol<const char*(int)>("nvmlErrorString");
        gpu.trouble = words != nullptr ? words(result) : "unknown";
        gpu.lost = result == gpu_is_lost;
        return gpu;
    }
    gpu.found = true;
    gpu.lost = lost(pci);
    char text[96] = "";
    if (answers("nvmlDeviceGetUUID", handle, &text[0], unsigned{sizeof text})) gpu.uuid = text;
    if (answers("nvmlDeviceGetName", handle, &text[0], unsigned{sizeof text})) gpu.name = text;
    gpu.max_link.gen = number_of(handle, "nvmlDeviceGetMaxPcieLinkGeneration");
    gpu.max_link.width = number_of(handle, "nvmlDeviceGetMaxPcieLinkWidth");
    if (auto* query = symbol<int(Device, unsigned, int*)>("nvmlDeviceGetNvLinkState")) {
        int active = 0;
        bool known = false;
        for (unsigned link = 0; link < most_nvlinks; ++link) {
            int state = 0;
            if (query(handle, link, &state) != success) continue;
            known = true;
            active += state;
            if (state != 0) gpu.nvlink_remotes.push_back(nvlink_remote(handle, link));
        }
        if (known) gpu.nvlinks = active;
    }
    unsigned version = 0;
    if (gpu.nvlinks && answers("nvmlDeviceGetNvLinkVersion", handle, 0U, &version))
        gpu.nvlink_generation = nvlink_generation(version);
    Memory memory{};
    if (answers("nvmlDeviceGetMemoryInfo", handle, &memory)) gpu.memory = memory.total;
    unsigned current = 0;
    unsigned pending = 0;
    if (answers("nvmlDeviceGetMigMode", handle, &current, &pending)) gpu.mig = current != 0;
    if (answers("nvmlDeviceGetEccMode", handle, &current, &pending)) gpu.ecc = current != 0;
    if (const std::optional<int> mode = number_of(handle, "nvmlDeviceGetC2cModeInfoV")) gpu.c2c = *mode != 0;
    gpu.processes = processes_on(handle).value_or(std::vector<GpuProcess>{});
    gpu.confidential = confidential();
    return gpu;
}

std::optional<std::vector<GpuProcess>> Nvml::processes_on(void* handle) const {
    constexpr unsigned most_listed = 1024;
    constexpr unsigned long long not_said = ~0ULL;
    auto* name_of = symbol<int(unsigned, char*, unsigned)>("nvmlSystemGetProcessName");
    std::optional<std::vector<GpuProcess>> found;
    std::vector<Process> listed(most_listed);
    for (const char* const list : {"nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetMPSComputeRunningProcesses_v3"}) {
        unsigned count = most_listed;
        if (!answers(list, handle, &count, listed.data())) continue;
        if (!found) found.emplace();
        for (unsigned i = 0; i < count; ++i) {
            char text[256] = "";
            if (name_of != nullptr && name_of(listed[i].pid, text, sizeof text) != success) text[0] = '\0';
            const std::string name = text;
            // A service for others: it holds a context on every GPU, whether anybody uses it or not. Who does has a list of his own.
            if (name.substr(name.rfind('/') + 1) == "nvidia-cuda-mps-server") continue;
            found->push_back({listed[i].pid, name, {}});
            if (listed[i].memory != not_said) found->back().memory = listed[i].memory;
        }
    }
    return found;
}

std::vector<std::string> Nvml::addresses() const {
    std::vector<std::string> found;
    unsigned count = 0;
    if (!answers("nvmlDeviceGetCount_v2", &count)) return found;
    for (unsigned i = 0; i < count; ++i) {
        Device handle = nullptr;
        PciInfo info{};
        if (answers("nvmlDeviceGetHandleByIndex_v2", i, &handle) && answers("nvmlDeviceGetPciInfo_v3", handle, &info))
            found.push_back(normal_pci(info.bus_id));
    }
    return found;
}

std::optional<std::vector<GpuProcess>> Nvml::processes(const std::string& pci) const {
    const Device handle = device(pci);
    return handle == nullptr ? std::nullopt : processes_on(handle);
}

std::vector<LinkCounter> Nvml::link_counters(const std::string& pci) const {
    std::vector<LinkCounter> found;
    const Device handle = device(pci);
    if (handle == nullptr) return found;
    if (const auto count = replays(pci)) found.push_back({"pcie_replays", {}, *count});
    auto* query = symbol<int(Device, unsigned, unsigned, unsigned long long*)>("nvmlDeviceGetNvLinkErrorCounter");
    if (query == nullptr) return found;
    for (unsigned kind = 0; kind < nvlink_counters.size(); ++kind)
        for (unsigned link = 0; link < most_nvlinks; ++link)
            if (unsigned long long count = 0; query(handle, link, kind, &count) == success)
                found.push_back({nvlink_counters[kind], static_cast<int>(link), count});
    return found;
}

std::optional<bool> Nvml::confidential() const {
    ConfidentialState state{};
    if (!answers("nvmlSystemGetConfComputeState", &state)) return {};
    return state.feature != 0;
}

std::string Nvml::nvlink_remote(void* handle, unsigned link) const {
    unsigned type = 0;
    if (answers("nvmlDeviceGetNvLinkRemoteDeviceType", handle, link, &type) && type == remote_switch) return remote_is_switch;
    PciInfo info{};
    return answers("nvmlDeviceGetNvLinkRemotePciInfo_v2", handle, link, &info) ? normal_pci(info.bus_id) : "unknown";
}

PcieLink max_link_of(const PciGpu& on_bus, const NvmlGpu& management) {
    const PcieLink& driver = management.max_link;
    return {driver.gen ? driver.gen : on_bus.max_link.gen, driver.width ? driver.width : on_bus.max_link.width};
}

int nvlinks_between(const NvmlGpu& a, const std::string& pci_of_a, const NvmlGpu& b, const std::string& pci_of_b) {
    const auto lanes = [](const NvmlGpu& gpu, const std::string& to) {
        return static_cast<int>(std::count(gpu.nvlink_remotes.begin(), gpu.nvlink_remotes.end(), to));
    };
    const int direct = std::min(lanes(a, pci_of_b), lanes(b, pci_of_a));
    return direct > 0 ? direct : std::min(lanes(a, remote_is_switch), lanes(b, remote_is_switch));
}

LinkState Nvml::present_link(const std::string& pci) const {
    const Device handle = device(pci);
    return {number_of(handle, "nvmlDeviceGetCurrPcieLinkGeneration"), number_of(handle, "nvmlDeviceGetCurrPcieLinkWidth")};
}

std::optional<std::uint64_t> Nvml::replays(const std::string& pci) const {
    const Device handle = device(pci);
    unsigned count = 0;
    if (handle == nullptr || !answers("nvmlDeviceGetPcieReplayCounter", handle, &count)) return {};
    return count;
}

std::optional<std::uint64_t> Nvml::corrected_errors(const std::string& pci) const { return memory_errors(pci, 0); }

std::optional<std::uint64_t> Nvml::uncorrected_errors(const std::string& pci) const { return memory_errors(pci, 1); }

// `kind`: by NVML's numbers.
std::optional<std::uint64_t> Nvml::memory_errors(const std::string& pci, int kind) const {
    constexpr int since_reset = 0;
    const Device handle = device(pci);
    unsigned long long count = 0;
    if (handle == nullptr || !answers("nvmlDeviceGetTotalEccErrors", handle, kind, since_reset, &count)) return {};
    return count;
}

std::vector<std::string> Nvml::throttle_reasons(const std::string& pci) const {
    std::vector<std::string> reasons;
    const Device handle = device(pci);
    unsigned long long bits = 0;
    if (handle == nullptr || !answers("nvmlDeviceGetCurrentClocksThrottleReasons", handle, &bits)) return reasons;
    for (const ThrottleReason& throttle : throttles)
        if ((bits & throttle.bit) != 0) reasons.emplace_back(throttle.name);
    return reasons;
}

RunningState Nvml::running_state(const std::string& pci) const {
    constexpr int sm_clock = 1;
    constexpr int memory_clock = 2;
    constexpr int of_the_chip = 0;
    constexpr unsigned memory_temperature_field = 82;
    RunningState state;
    const Device handle = device(pci);
    if (handle == nullptr) return state;
    unsigned number = 0;
    if (answers("nvmlDeviceGetClockInfo", handle, sm_clock, &number)) state.sm_clock = static_cast<int>(number);
    if (answers("nvmlDeviceGetClockInfo", handle, memory_clock, &number)) state.memory_clock = static_cast<int>(number);
    if (answers("nvmlDeviceGetPowerUsage", handle, &number)) state.power = number * 1e-3;
    if (answers("nvmlDeviceGetTemperature", handle, of_the_chip, &number)) state.temperature = static_cast<int>(number);
    FieldValue of_memory{memory_temperature_field, 0, 0, 0, 0, 0, 0};
    if (answers("nvmlDeviceGetFieldValues", handle, 1, &of_memory) && of_memory.result == success && of_memory.value > 0)
        state.memory_temperature = static_cast<int>(of_memory.value);
    return state;
}

bool Nvml::lost(const std::string& pci) const {
    int result = success;
    const Device handle = device(pci, &result);
    if (result == gpu_is_lost) return true;
    unsigned temperature = 0;
    auto* query = symbol<int(Device, int, unsigned*)>("nvmlDeviceGetTemperature");
    return handle != nullptr && query != nullptr && query(handle, 0, &temperature) == gpu_is_lost;
}

}  // namespace nearfar
