// Passes of one STREAM kernel by a GPU over one set of arrays, and whether what they left is right.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cell/results.h"
#include "gpu/gpu_device.h"
#include "gpu/gpu_runtime.h"
#include "gpu/queued_series.h"
#include "kernels/gpu_stream/gpu_stream_arrays.h"
#include "memory/copy_series.h"

namespace nearfar {

class GpuStreamSeries : public QueuedSeries {
public:
    // `gpu` computes; `checker`, on whose memory the arrays are or `gpu` itself, looks at them.
    GpuStreamSeries(const Flow& flow, const GpuStreamArrays& arrays, const GpuDevice& gpu, const GpuDevice& checker);
    ~GpuStreamSeries() override;
    GpuStreamSeries(GpuStreamSeries&& other) noexcept;
    GpuStreamSeries& operator=(GpuStreamSeries&&) = delete;
    GpuStreamSeries(const GpuStreamSeries&) = delete;
    GpuStreamSeries& operator=(const GpuStreamSeries&) = delete;

    const Flow& flow() const { return flow_; }
    const GpuDevice& gpu() const { return *gpu_; }
    const GpuStreamArrays& arrays() const { return arrays_; }
    // What STREAM counts for one pass.
    std::size_t counted_bytes() const;

    std::string name() const override { return flow_.text(); }
    void make_current() const override;
    cudaStream_t stream() const override { return stream_; }
    // Poisons the destination, or sets the sum to nought. Before the first pass of a visit.
    void begin();
    void begin_lap() override;
    void queue_copies(int passes, bool one_kernel = false) override;
    void verify_lap() override;
    // Of all passes since begin(). Throws Failure where anything is not as they must leave it.
    Verified verify();

private:
    Flow flow_;
    GpuStreamArrays arrays_;
    const GpuDevice* gpu_;
    const GpuDevice* checker_;
    cudaStream_t stream_ = nullptr;
    cudaStream_t check_stream_ = nullptr;
    unsigned long long* wrong_ = nullptr;  // of the checker
    double* sum_ = nullptr;                // of the GPU
    CopySeries series_;
    std::uint64_t passes_ = 0;   // since the sum was nought
    std::uint64_t counted_ = 0;  // passes before that, which were found right
    std::uint64_t seen_ = 0;

    void warm_memset_up() const;
    void clear_sum();
    void require_sum() const;
    void compare(const std::vector<Arrival>& arrivals) const;
    [[noreturn]] void fail(const std::string& what) const;
};

}  // namespace nearfar
