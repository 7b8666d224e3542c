#include "gpu/gpu_call.h"

#include <string>

namespace nearfar {

void check(cudaError_t result, const char* what) {
    if (result == cudaSuccess) return;
    cudaGetLastError();  // remembered otherwise, and blamed on the next launch
    const std::string words = std::string(what) + ": " + cudaGetErrorString(result);
    switch (result) {
        case cudaErrorMemoryAllocation: throw Prevented("no_memory", words);
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
        case cudaErrorInsufficientDriver:
        case cudaErrorNoDevice: throw Prevented("missing_library", words);
        case cudaErrorSystemNotReady: throw Prevented("missing_library", words + " (is nvidia-fabricmanager running?)");
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

}  // namespace nearfar
