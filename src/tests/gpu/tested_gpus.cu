#include "tests/gpu/tested_gpus.h"

#include <gtest/gtest.h>

namespace nearfar {
namespace {

__global__ void touch_nothing_that_exists() { *reinterpret_cast<volatile int*>(8) = 1; }

}  // namespace

Node node_with_gpus() { return read_node({}); }

void break_gpu(const GpuDevice& gpu) {
    cudaSetDevice(gpu.ordinal);
    touch_nothing_that_exists<<<1, 1>>>();
    EXPECT_NE(cudaDeviceSynchronize(), cudaSuccess) << "the GPU was to be broken";
}

}  // namespace nearfar
