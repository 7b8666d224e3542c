// The GPUs of a session as its document has them.
#pragma once

#include <vector>

#include "gpu/gpu_device.h"
#include "output/document.h"

namespace nearfar {

inline std::vector<DocumentGpu> gpus_for_document(const std::vector<GpuDevice>& gpus) {
    std::vector<DocumentGpu> shown;
    for (const GpuDevice& gpu : gpus) shown.push_back({gpu.on_bus, gpu.management, gpu.ordinal >= 0});
    return shown;
}

}  // namespace nearfar
