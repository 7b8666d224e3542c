// NVIDIA's management library, opened at run time: a node without it is still measured, with less said about it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "node/node.h"

namespace nearfar {

struct LinkState {
    std::optional<int> gen;
    std::optional<int> width;
};

// A process that holds a compute context.
struct GpuProcess {
    unsigned pid = 0;                     // in a container the host's number
    std::string name;                     // empty: not said
    std::optional<std::uint64_t> memory;  // bytes
};

// What NVML says of one GPU; everything may be unknown.
struct NvmlGpu {
    bool found = false;   // NVML lists a device at this address
    bool lost = false;    // NVML says that the GPU is lost
    std::string trouble;  // NVML's words where it is not found or lost
    std::string uuid;
    std::string name;
    PcieLink max_link;
    std::optional<int> nvlink_generation;
    std::optional<int> nvlinks;               // active lanes
    std::vector<std::string> nvlink_remotes;  // where each active lane leads: a PCI address, or "switch"; empty: not known
    std::optional<std::uint64_t> memory;
    std::optional<bool> mig;
    std::optional<bool> ecc;
    std::optional<bool> c2c;            // the host is reached over NVLink-C2C
    std::vector<GpuProcess> processes;  // that hold a compute context now, the Multi-Process Service's server left out
    std::optional<bool> confidential;   // confidential computing is on
};

// What device and slot allow: the driver's word before the bus's, number by number.
PcieLink max_link_of(const PciGpu& on_bus, const NvmlGpu& management);

// What a GPU's clocks, power and temperature are at a moment; everything may be unknown.
struct RunningState {
    std::optional<int> sm_clock;
    std::optional<int> memory_clock;
    std::optional<double> power;
    std::optional<int> temperature;
    std::optional<int> memory_temperature;
};

// A counter of a GPU's links: of one NVLink, or of PCIe where `nvlink` is nothing.
struct LinkCounter {
    std::string name;
    std::optional<int> nvlink;
    std::uint64_t count = 0;
};

// NVLink lanes between two GPUs, through NVSwitches or direct; 0 where none are known.
int nvlinks_between(const NvmlGpu& a, const std::string& pci_of_a, const NvmlGpu& b, const std::string& pci_of_b);

class Nvml {
public:
    Nvml();
    ~Nvml();
    Nvml(const Nvml&) = delete;
    Nvml& operator=(const Nvml&) = delete;

    bool available() const { return library_ != nullptr; }
    std::string driver_version() const;
    NvmlGpu gpu(const std::string& pci) const;
    LinkState present_link(const std::string& pci) const;
    // PCI addresses of all GPUs that NVML knows, in its order.
    std::vector<std::string> addresses() const;
    // Those that hold a compute context now, the Multi-Process Service's server left out; nothing where the driver does not say.
    std::optional<std::vector<GpuProcess>> processes(const std::string& pci) const;
    // Errors, replays and recoveries of PCIe and of each NVLink since boot, those that the driver counts.
    std::vector<LinkCounter> link_counters(const std::string& pci) const;
    // Why there is no NVML; empty where there is.
    const std::string& trouble() const { return trouble_; }
    // The link's replays since boot, where the driver counts them.
    std::optional<std::uint64_t> replays(const std::string& pci) const;
    // Of memory, since the last reset.
    std::optional<std::uint64_t> uncorrected_errors(const std::string& pci) const;
    std::optional<std::uint64_t> corrected_errors(const std::string& pci) const;
    // Why clocks are held down now, in NVML's words ("sw_power_cap"); idle is not a reason.
    std::vector<std::string> throttle_reasons(const std::string& pci) const;
    bool lost(const std::string& pci) const;
    // Clocks in MHz, power in W and temperature in °C now, those that the driver says.
    RunningState running_state(const std::string& pci) const;

private:
    void* library_ = nullptr;
    std::string trouble_;

    template <typename F>
    F* symbol(const char* name) const;
    // Calls a function of the library that says by its result whether it has answered; false where there is no such function.
    template <typename... Arguments>
    bool answers(const char* name, Arguments... arguments) const;
    // The one number that a function says of a device.
    std::optional<int> number_of(void* device, const char* name) const;
    void* device(const std::string& pci, int* result = nullptr) const;
    std::string nvlink_remote(void* device, unsigned link) const;
    std::optional<std::vector<GpuProcess>> processes_on(void* device) const;
    std::optional<bool> confidential() const;
    std::optional<std::uint64_t> memory_errors(const std::string& pci, int kind) const;
};

}  // namespace nearfar
