#include "gpu/host_registration.h"

#include <sys/resource.h>

#include "gpu/gpu_call.h"
#include "gpu/gpu_runtime.h"

namespace nearfar {
namespace {

std::optional<std::uint64_t> locked_limit() {
    rlimit limit{};
    if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return {};
    return limit.rlim_cur;
}

}  // namespace

Prevented registration_refused(const std::string& words, bool confidential, std::size_t bytes,
                               std::optional<std::uint64_t> locked_limit) {
    const std::string refused = "host memory cannot be page-locked (cudaHostRegister): " + words + "; ";
    if (confidential) return {"denied", refused + "with confidential computing no device reaches the memory of this machine"};
    const std::string wanted = std::to_string(bytes >> 20) + " MiB";
    if (!locked_limit)
        return {"memlock",
                refused + wanted +
                    " were asked for, and the limit on locked memory ('ulimit -l') is none: see the kernel's messages"};
    return {"memlock", refused + wanted + " were asked for, and the limit on locked memory ('ulimit -l') is " +
                           std::to_string(*locked_limit >> 10) + " KiB" +
                           (*locked_limit < bytes ? "" : " for all of the process: raise it, or see the kernel's messages")};
}

LockedPages lock_pages(void* data, std::size_t bytes, const GpuDevice& gpu) {
    check(cudaSetDevice(gpu.ordinal), "cudaSetDevice");
    const cudaError_t result = cudaHostRegister(data, bytes, cudaHostRegisterPortable | cudaHostRegisterMapped);
    switch (result) {
        case cudaSuccess: return LockedPages(data);
        case cudaErrorMemoryAllocation:
        case cudaErrorInvalidValue:
        case cudaErrorNotSupported:
        case cudaErrorNotPermitted:
        case cudaErrorOperatingSystem: break;
        default: check(result, "cudaHostRegister");
    }
    cudaGetLastError();  // told here, and not to the next call
    const bool forbidden = result == cudaErrorNotSupported || result == cudaErrorNotPermitted;
    throw registration_refused(cudaGetErrorString(result), gpu.management.confidential.value_or(forbidden), bytes,
                               locked_limit());
}

}  // namespace nearfar
