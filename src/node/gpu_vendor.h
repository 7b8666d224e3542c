// Whose GPUs this build measures, and what that vendor calls things.
#pragma once

namespace nearfar {

struct GpuVendor {
    bool is_nvidia;
    unsigned pci_id;
    const char* name;
    const char* runtime;              // in sentences
    const char* runtime_key;          // in documents
    const char* visible_devices;      // the environment variable that hides GPUs
    const char* hardware_queues;      // the one that sets how many streams of a GPU run at once
    const char* architecture_option;  // what gives a build code for another GPU
};

#ifdef NEARFAR_HIP
constexpr GpuVendor gpu_vendor{false,
                               0x1002,
                               "AMD",
                               "HIP",
                               "hip",
                               "HIP_VISIBLE_DEVICES",
                               "GPU_MAX_HW_QUEUES",
                               "its architecture in NEARFAR_HIP_ARCHITECTURES"};
#else
constexpr GpuVendor gpu_vendor{true,
                               0x10de,
                               "NVIDIA",
                               "CUDA",
                               "cuda",
                               "CUDA_VISIBLE_DEVICES",
                               "CUDA_DEVICE_MAX_CONNECTIONS",
                               "its compute capability in NEARFAR_CUDA_ARCH"};
#endif

}  // namespace nearfar
