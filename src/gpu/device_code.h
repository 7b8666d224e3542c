// What kernels use that CUDA and HIP name differently.
#pragma once

#include "gpu/gpu_runtime.h"

#ifdef NEARFAR_HIP
#include <hip/hip_runtime.h>
#endif

namespace nearfar {

#ifdef NEARFAR_HIP

#if defined(__HIP_DEVICE_COMPILE__) && !defined(__GFX9__)
#error "only GPUs of the gfx9 family (MI100 to MI300) have the wavefronts of 64 that the kernels are written for"
#endif
constexpr int warp = 64;

// The clock ticks at 100 MHz on gfx90a and gfx942; HIP 5.2 does not report its rate. It times only how long the latch waits.
__device__ inline unsigned long long nanoseconds_now() {
#ifdef __HIP_DEVICE_COMPILE__
    constexpr unsigned long long nanoseconds_per_tick = 10;
    return static_cast<unsigned long long>(wall_clock64()) * nanoseconds_per_tick;
#else
    return 0;
#endif
}

// Loads and stores of data that is used once and need not stay in a cache.
using Pair = double __attribute__((ext_vector_type(2)));
using Four = unsigned __attribute__((ext_vector_type(4)));
__device__ inline double2 load_once(const double2* from) {
    const Pair value = __builtin_nontemporal_load(reinterpret_cast<const Pair*>(from));
    return {value.x, value.y};
}
__device__ inline void store_once(double2* to, const double2& value) {
    __builtin_nontemporal_store(Pair{value.x, value.y}, reinterpret_cast<Pair*>(to));
}
__device__ inline void store_once(uint4* to, const uint4& value) {
    __builtin_nontemporal_store(Four{value.x, value.y, value.z, value.w}, reinterpret_cast<Four*>(to));
}

__device__ inline double shuffle_down(double value, int offset) {
    return __shfl_down(value, static_cast<unsigned>(offset), warp);
}

template <typename Function>
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, Function* kernel) {
    return hipFuncGetAttributes(attributes, reinterpret_cast<const void*>(kernel));
}

#else

constexpr int warp = 32;

__device__ inline unsigned long long nanoseconds_now() {
    unsigned long long time = 0;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
    return time;
}

// Loads and stores of data that is used once and need not stay in a cache.
__device__ inline double2 load_once(const double2* from) { return __ldcs(from); }
__device__ inline void store_once(double2* to, const double2& value) { __stcs(to, value); }
__device__ inline void store_once(uint4* to, const uint4& value) { __stcs(to, value); }

__device__ inline double shuffle_down(double value, int offset) { return __shfl_down_sync(0xffffffffU, value, offset); }

#endif

}  // namespace nearfar
