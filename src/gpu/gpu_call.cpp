#include "gpu/gpu_call.h"

#include <string>

#include "core/trouble.h"
#include "node/gpu_vendor.h"

namespace nearfar {

constexpr auto contained = static_cast<cudaError_t>(226);  // cudaErrorContained, which not every 12.x names

std::string help_of_installation(cudaError_t result) {
    const std::string own = std::string("this build is for ") + gpu_vendor.runtime + " " + compiled_cuda_version();
    switch (result) {
        case cudaErrorInsufficientDriver:
            return own + ", which the driver is too old for: update it, or build with an older toolkit";
        case cudaErrorNoKernelImageForDevice:
        case cudaErrorInvalidPtx:
            return std::string("the programs were built without code for this GPU: build them again with ") +
                   gpu_vendor.architecture_option;
        case cudaErrorJitCompilerNotFound:
            return "the driver's libnvidia-ptxjitcompiler.so.1 is missing: install the driver whole, or build for this GPU with "
                   "NEARFAR_CUDA_ARCH";
        case cudaErrorUnsupportedPtxVersion:
            return own + ", whose PTX the driver is too old for: update it, or build for this GPU with NEARFAR_CUDA_ARCH";
        case cudaErrorSystemDriverMismatch:
            return "libcuda.so and the kernel module are of different drivers: reload the module or reboot; in a container, have it take "
                   "the host's";
        case cudaErrorCompatNotSupportedOnDevice:
            return "forward compatibility is for data centre GPUs alone: take the compat folder out of LD_LIBRARY_PATH";
        case cudaErrorSystemNotReady: return "is nvidia-fabricmanager running?";
        default: return "";
    }
}

void check(cudaError_t result, const char* what) {
    if (result == cudaSuccess) return;
    cudaGetLastError();  // the runtime remembers it, and the next kernel's launch would be blamed
    const std::string words = std::string(what) + ": " + cudaGetErrorString(result);
    const std::string help = help_of_installation(result);
    if (!help.empty()) throw Prevented("missing_library", words + " (" + help + ")");
    if (result == contained) throw Failure("uncorrectable", words);
    switch (result) {
        case cudaErrorMemoryAllocation: throw Prevented("no_memory", words + limit_on_addresses());
        case cudaErrorDeviceAlreadyInUse:
        case cudaErrorDevicesUnavailable:
            throw Prevented("exclusive", words + " (another process holds the GPU, or its compute mode forbids us)");
        case cudaErrorMpsMaxClientsReached:
        case cudaErrorMpsMaxConnectionsReached:
            throw Prevented("exclusive", words + " (the Multi-Process Service takes no more processes)");
        case cudaErrorMpsConnectionFailed:
        case cudaErrorMpsRpcFailure:
        case cudaErrorMpsServerNotReady:
            throw Prevented("denied", words + " (the Multi-Process Service's pipe is there, but it does not serve)");
        case cudaErrorNoDevice: throw Prevented("missing_library", words);
        case cudaErrorNotPermitted:
        case cudaErrorOperatingSystem: throw Prevented("denied", words);
        case cudaErrorECCUncorrectable:
        case cudaErrorNvlinkUncorrectable: throw Failure("uncorrectable", words);
        case cudaErrorLaunchTimeout:
        case cudaErrorIllegalAddress:
        case cudaErrorLaunchFailure:
        case cudaErrorHardwareStackError:
        case cudaErrorInvalidDevice:
        case cudaErrorUnknown: throw Failure("lost", words);
        default: throw Failure("error", words);
    }
}

std::string compiled_cuda_version() {
    return std::to_string(CUDART_VERSION / 1000) + "." + std::to_string(CUDART_VERSION % 1000 / 10);
}

bool has_happened(cudaEvent_t event) {
    const cudaError_t result = cudaEventQuery(event);
    if (result == cudaErrorNotReady) {
        cudaGetLastError();  // likewise
        return false;
    }
    check(result, "asking for an event");
    return true;
}

double seconds_between(cudaEvent_t from, cudaEvent_t to) {
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, from, to), "cudaEventElapsedTime");
    return static_cast<double>(milliseconds) * 1e-3;
}

}  // namespace nearfar
