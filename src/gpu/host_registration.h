// Host memory page-locked for GPUs, and why it cannot be.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "core/error.h"
#include "gpu/gpu_device.h"

namespace nearfar {

struct UnlockPages {
    void operator()(void* data) const { cudaHostUnregister(data); }
};
// Host memory that is page-locked until this ends.
using LockedPages = std::unique_ptr<void, UnlockPages>;

// Page-locks host memory, so that every GPU addresses it, through one on which this process has a context: another would get one.
// Leaves that GPU current. Throws Prevented with what stands in the way, Failure where the GPU is lost.
LockedPages lock_pages(void* data, std::size_t bytes, const GpuDevice& gpu);

// What CUDA's refusal means. `confidential`: confidential computing is on; `locked_limit`: RLIMIT_MEMLOCK in bytes, nothing: unlimited.
Prevented registration_refused(const std::string& words, bool confidential, std::size_t bytes,
                               std::optional<std::uint64_t> locked_limit);

}  // namespace nearfar
