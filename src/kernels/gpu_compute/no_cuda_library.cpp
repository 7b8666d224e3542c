// A build for AMD GPUs has none of CUDA's libraries.
#include "core/error.h"
#include "kernels/gpu_compute/cuda_library.h"

namespace nearfar {

std::map<std::string, std::string> opened_libraries() { return {}; }

void refuse_library(const std::string& title) {
    throw Prevented("missing_library",
                    title + " is part of CUDA: a build for AMD GPUs (NEARFAR_HIP) does not measure what needs it");
}

}  // namespace nearfar
