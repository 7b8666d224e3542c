#include "gpu/gpu_device.h"

#include <algorithm>
#include <cstdlib>
#include <future>
#include <map>

#include "core/error.h"
#include "core/trouble.h"
#include "gpu/cuda_environment.h"
#include "gpu/gpu_call.h"
#include "gpu/gpu_kernels.h"
#include "node/gpu_vendor.h"
#include "node/link_ceiling.h"
#include "node/proc_files.h"

namespace nearfar {
namespace {

std::map<std::string, int> ordinals_by_pci() {
    std::map<std::string, int> found;
    int count = 0;
    if (cudaGetDeviceCount(&count) != cudaSuccess) return found;
    for (int ordinal = 0; ordinal < count; ++ordinal) {
        char pci[32] = "";
        if (cudaDeviceGetPCIBusId(pci, sizeof pci, ordinal) == cudaSuccess) found[normal_pci(pci)] = ordinal;
    }
    return found;
}

std::vector<GpuDevice> on_bus_and_in_cuda(const Node& node) {
    const std::map<std::string, int> ordinals = ordinals_by_pci();
    std::vector<GpuDevice> gpus;
    for (const PciGpu& on_bus : node.gpus) {
        GpuDevice gpu;
        gpu.index = static_cast<int>(gpus.size());
        gpu.on_bus = on_bus;
        const auto ordinal = ordinals.find(on_bus.pci);
        if (ordinal != ordinals.end()) gpu.ordinal = ordinal->second;
        gpus.push_back(gpu);
    }
    return gpus;
}

void refuse(GpuDevice& gpu, const char* code, const std::string& reason, bool failed = false) {
    gpu.code = code;
    gpu.reason = gpu.name() + " (" + gpu.on_bus.pci + ") " + reason;
    gpu.failed = failed;
}

// "python3 of alice (pid 4711), train (pid 4712) and 2 more".
std::string named(const std::vector<GpuProcess>& processes) {
    constexpr std::size_t most_named = 3;
    std::string found;
    for (std::size_t i = 0; i < std::min(most_named, processes.size()); ++i) {
        const std::string name = processes[i].name.substr(processes[i].name.rfind('/') + 1);
        const std::string owner = owner_of(processes[i].pid);
        found += (i == 0 ? "" : ", ") + (name.empty() ? "a process" : name) + (owner.empty() ? "" : " of " + owner) + " (pid " +
                 std::to_string(processes[i].pid) + ")";
    }
    return found + (processes.size() > most_named ? " and " + std::to_string(processes.size() - most_named) + " more" : "");
}

// Why a GPU on the node's list cannot be measured, the worst first.
void classify(GpuDevice& gpu, bool by_nvml, const std::string& trouble, bool even_if_busy, bool all_hidden) {
    const char* visible = std::getenv(gpu_vendor.visible_devices);
    if (!gpu.on_bus.on_bus) return refuse(gpu, "absent", "is not on the PCI bus", true);
    if (gpu.management.lost) return refuse(gpu, "lost", "is lost: NVML says that it has fallen off the bus", true);
    if (by_nvml && !gpu.management.found)
        return refuse(gpu, "denied", "is not given to this process: NVML says " + gpu.management.trouble);
    if (gpu.management.mig.value_or(false))
        return refuse(gpu, "mig", "is in MIG mode; whole-GPU paths are measured with MIG off");
    if (gpu.ordinal < 0 && !trouble.empty()) return refuse(gpu, "missing_library", "cannot be used: " + trouble);
    if (gpu.ordinal < 0 && visible != nullptr)
        return refuse(gpu, "denied", std::string("is hidden by ") + gpu_vendor.visible_devices + "=" + visible);
    if (gpu.ordinal < 0 && gpu.management.found && all_hidden)
        return refuse(gpu, "denied",
                      "is listed by NVML, but CUDA shows this process no GPU at all: a container needs "
                      "NVIDIA_DRIVER_CAPABILITIES=compute,utility and the devices /dev/nvidia-uvm and /dev/nvidiaN");
    if (gpu.ordinal < 0 && gpu.management.found)
        return refuse(gpu, "lost", "is listed by the driver, but CUDA does not initialise it", true);
    if (gpu.ordinal < 0) return refuse(gpu, "denied", "is on the PCI bus, but the driver does not show it to this process");
    if (!even_if_busy && !gpu.management.processes.empty())
        return refuse(gpu, "busy",
                      "is used by " + named(gpu.management.processes) + "; run again when that has ended, or say --even-if-busy");
}

// What CUDA says of a GPU; nothing where it says nothing.
std::optional<int> attribute(int ordinal, cudaDeviceAttr which) {
    int value = 0;
    if (cudaDeviceGetAttribute(&value, which, ordinal) == cudaSuccess) return value;
    cudaGetLastError();  // remembered otherwise, and blamed on the next launch
    return {};
}

}  // namespace

void GpuDevice::require() const {
    if (code.empty()) return;
    if (failed) throw Failure(code, reason);
    throw Prevented(code, reason);
}

std::optional<double> GpuDevice::ceiling() const {
#if defined(__powerpc64__)
    return {};  // POWER9 reaches its GPUs over NVLink
#else
    if (management.c2c.value_or(false)) return {};
    const PcieLink link = max_link_of(on_bus, management);
    return pcie_ceiling(link.gen, link.width);
#endif
}

std::optional<double> GpuDevice::memory_ceiling() const {
    return nearfar::memory_ceiling(attribute(ordinal, cudaDevAttrMemoryClockRate),
                                   attribute(ordinal, cudaDevAttrGlobalMemoryBusWidth));
}

std::size_t GpuDevice::cache() const { return static_cast<std::size_t>(attribute(ordinal, cudaDevAttrL2CacheSize).value_or(0)); }

std::optional<double> GpuDevice::local_ceiling() const {
    return memory_copy_ceiling(attribute(ordinal, cudaDevAttrMemoryClockRate),
                               attribute(ordinal, cudaDevAttrGlobalMemoryBusWidth));
}

std::string start_cuda(int streams_a_gpu) {
    if (streams_a_gpu > 0) set_cuda_environment(streams_a_gpu);
    int count = 0;
    const cudaError_t result = cudaGetDeviceCount(&count);
    if (result == cudaSuccess || result == cudaErrorNoDevice) return "";
    const std::string help = help_of_installation(result);
    return cudaGetErrorString(result) + (help.empty() ? limit_on_addresses() : " (" + help + ")");
}

std::vector<GpuDevice> find_gpus(const Node& node, const Nvml& nvml, const std::string& trouble, bool even_if_busy) {
    std::vector<GpuDevice> gpus = on_bus_and_in_cuda(node);
    // One of one that CUDA does not show, on the machine itself, may be broken.
    const bool all_hidden = (gpus.size() > 1 || has_own_process_numbers()) &&
                            std::all_of(gpus.begin(), gpus.end(), [](const GpuDevice& gpu) { return gpu.ordinal < 0; });
    for (GpuDevice& gpu : gpus) {
        gpu.management = nvml.gpu(gpu.on_bus.pci);
        classify(gpu, nvml.available(), trouble, even_if_busy, all_hidden);
    }
    return gpus;
}

std::vector<GpuDevice> find_gpus_by_cuda(const Node& node) {
    const std::string trouble = start_cuda(1);
    std::vector<GpuDevice> gpus = on_bus_and_in_cuda(node);
    for (GpuDevice& gpu : gpus) classify(gpu, false, trouble, true, false);
    return gpus;
}

void open_gpus(std::vector<GpuDevice>& gpus, const std::vector<int>& wanted) {
    std::vector<std::future<void>> openers;  // each is waited for, also where the next cannot be started
    for (GpuDevice& gpu : gpus) {
        if (!gpu.code.empty() || std::find(wanted.begin(), wanted.end(), gpu.index) == wanted.end()) continue;
        openers.push_back(std::async(std::launch::async, [&gpu] {
            try {
                check(cudaSetDevice(gpu.ordinal), "cudaSetDevice");
                check(cudaFree(nullptr), "creating a context");
                load_kernels();
                gpu.open = true;
            } catch (const Prevented& why) {
                refuse(gpu, why.code.c_str(), why.what());
            } catch (const Failure& why) {
                refuse(gpu, why.code.c_str(), why.what(), true);
            }
        }));
    }
    for (std::future<void>& opener : openers) opener.get();
}

}  // namespace nearfar
