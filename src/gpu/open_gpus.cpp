#include "gpu/open_gpus.h"

#include <algorithm>
#include <set>
#include <thread>
#include <utility>

#include "node/gpu_vendor.h"

namespace nearfar {
namespace {

// An error that stays with the GPU's context once it has happened. Asked in a thread of its own: in one whose present GPU is lost,
// choosing another answers with the lost one's error.
cudaError_t lasting_error(const GpuDevice& gpu) {
    cudaError_t result = cudaSuccess;
    std::thread([&] {
        result = cudaSetDevice(gpu.ordinal);
        if (result == cudaSuccess) result = cudaDeviceSynchronize();
    }).join();
    return result;
}

}  // namespace

OpenGpus::OpenGpus(const Node& node, bool even_if_busy, int streams_a_gpu)
    : gpus_(find_gpus(node, nvml_, start_cuda(streams_a_gpu), even_if_busy)) {}

std::vector<DocumentGpu> OpenGpus::shown() const {
    std::vector<DocumentGpu> shown;
    for (const GpuDevice& gpu : gpus_) shown.push_back({gpu.on_bus, gpu.management, gpu.ordinal >= 0});
    return shown;
}

void OpenGpus::open(std::vector<int> wanted) {
    wanted_ = std::move(wanted);
    open_gpus(gpus_, wanted_);
    for (const int gpu : wanted_)
        if (const auto count = nvml_.replays(at(gpu).on_bus.pci)) replays_before_[gpu] = *count;
}

LinkState OpenGpus::look(const GpuDevice& gpu) {
    GpuUnderLoad& load = loads_[gpu.index];
    load.link = nvml_.present_link(gpu.on_bus.pci);
    for (const std::string& reason : nvml_.throttle_reasons(gpu.on_bus.pci))
        if (std::find(load.throttle.begin(), load.throttle.end(), reason) == load.throttle.end()) load.throttle.push_back(reason);
    return load.link;
}

std::vector<GpuUnderLoad> OpenGpus::under_load() const {
    std::vector<GpuUnderLoad> found;
    for (const int index : wanted_) {
        const std::string& pci = at(index).on_bus.pci;
        const auto seen = loads_.find(index);
        GpuUnderLoad& gpu = found.emplace_back(seen == loads_.end() ? GpuUnderLoad{} : seen->second);
        gpu.gpu = index;
        const auto before = replays_before_.find(index);
        const auto after = nvml_.replays(pci);
        if (before != replays_before_.end() && after) gpu.replays = *after - before->second;
        gpu.uncorrected_errors = nvml_.uncorrected_errors(pci);
    }
    return found;
}

std::string OpenGpus::trouble_of(const GpuDevice& gpu) const {
    if (nvml_.lost(gpu.on_bus.pci)) return "NVML says that it has fallen off the bus";
    const cudaError_t error = lasting_error(gpu);
    return error == cudaSuccess ? "" : cudaGetErrorString(error);
}

Failure OpenGpus::blame(const Cell& cell, const Failure& why) {
    const std::set<int> suspects = gpus_of(cell);
    const auto is_known = [this](int index) { return !at(index).code.empty(); };
    if (std::any_of(suspects.begin(), suspects.end(), is_known)) return why;  // it was not measured for that reason
    const std::string code = why.code == "uncorrectable" ? why.code : "lost";
    const auto troubled = [this](int index) { return !trouble_of(at(index)).empty(); };
    const bool others_too =
        std::any_of(wanted_.begin(), wanted_.end(),
                    [&](int index) { return suspects.count(index) == 0 && !is_known(index) && troubled(index); }) ||
        (suspects.size() > 1 && std::all_of(suspects.begin(), suspects.end(), troubled));
    std::string names;
    std::string words;
    for (const int index : suspects) {
        GpuDevice& gpu = gpus_[static_cast<std::size_t>(index)];
        const std::string trouble = trouble_of(gpu);
        if (trouble.empty()) continue;
        names += (names.empty() ? "" : others_too ? " or " : " and ") + gpu.name() + " (" + gpu.on_bus.pci + ")";
        words = " was lost while " + cell.text() + " was measured: " + trouble;
        if (others_too && suspects.size() > 1) continue;
        gpu.code = code;
        gpu.reason = gpu.name() + " (" + gpu.on_bus.pci + ")" + words;
        gpu.failed = true;
    }
    leave_lost();
    if (others_too && end_of_process_.empty())
        end_of_process_ = std::string(gpu_vendor.runtime) + " came to its end in this process when " + cell.text() + " failed";
    return names.empty() ? why : Failure(code, names + words);
}

void OpenGpus::leave_lost() const {
    for (const int index : wanted_) {
        const GpuDevice& gpu = at(index);
        // The first answer may be the lost one's error.
        if (gpu.code.empty() && (cudaSetDevice(gpu.ordinal) == cudaSuccess || cudaSetDevice(gpu.ordinal) == cudaSuccess)) break;
    }
    cudaGetLastError();  // remembered otherwise, and blamed on the next launch
}

std::exception_ptr OpenGpus::blame(const Cell& cell, const std::exception_ptr& trouble) {
    try {
        if (trouble) std::rethrow_exception(trouble);
    } catch (const Failure& why) {
        return std::make_exception_ptr(blame(cell, why));
    } catch (...) {
        return trouble;
    }
    return nullptr;
}

void OpenGpus::require_process() const {
    if (!end_of_process_.empty()) throw ProcessSpent(end_of_process_);
}

}  // namespace nearfar
