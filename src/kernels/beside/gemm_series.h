// Matrix products in single precision that a GPU computes in its own memory, one after the other.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "gpu/checked_series.h"
#include "gpu/gpu_device.h"
#include "gpu/gpu_handles.h"
#include "kernels/gpu_compute/gpu_compute.h"
#include "kernels/problems/problem.h"

namespace nearfar {

// 4096 x 4096 (SHOC's size 4): 2.7 ms of an H200. Elsewhere where tests are to be short.
extern const ProblemSize gemm_beside_copies;

class GemmSeries : public QueuedSeries {
public:
    // Takes the GPU's memory, opens cuBLAS and computes once: libraries load what they need when they are first used. `cpus` look at
    // the answers. Throws Prevented (no_memory, missing_library) or what the GPU answers.
    GemmSeries(const GpuDevice& gpu, std::vector<int> cpus);
    ~GemmSeries() override;
    GemmSeries(const GemmSeries&) = delete;
    GemmSeries& operator=(const GemmSeries&) = delete;

    std::string name() const override { return gpu_.name() + ":" + gpu_.name() + "/gemm"; }
    void make_current() const override;
    cudaStream_t stream() const override { return stream_.get(); }
    // Poisons the results, so that those of an earlier window count for nothing.
    void begin_lap() override;
    void queue_copies(int products, bool one_kernel = false) override;
    void verify_lap() override { verify(); }

    // Arithmetic of one product.
    double operations() const { return problem_->shape().operations; }
    // Throws Failure (wrong_data) where the last product is not what follows from its operands.
    Verified verify();

private:
    const GpuDevice& gpu_;
    std::unique_ptr<Problem> problem_;
    Team team_;
    std::vector<char> operands_;
    GpuStream stream_;
    GpuMemory<char> memory_;  // operands, then results
    GpuCompute compute_;

    const ProblemShape& shape() const { return problem_->shape(); }
    char* results() const { return memory_.get() + shape().in_bytes; }
};

}  // namespace nearfar
