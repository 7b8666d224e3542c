// Passes of one STREAM kernel by a GPU over one set of arrays, and whether what they left is right.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "gpu/checked_series.h"
#include "kernels/gpu_stream/gpu_stream_arrays.h"

namespace nearfar {

class GpuStreamSeries : public CheckedSeries {
public:
    // `gpu` computes; `checker`, on whose memory the arrays are or `gpu` itself, looks at them.
    GpuStreamSeries(const Flow& flow, const GpuStreamArrays& arrays, const GpuDevice& gpu, const GpuDevice& checker);

    const GpuStreamArrays& arrays() const { return arrays_; }
    // What STREAM counts for one pass.
    std::size_t counted_bytes() const;

    // Poisons the destination, or sets the sum to nought. Before the first pass of a visit.
    void begin();
    void begin_lap() override;
    void queue_copies(int passes, bool one_kernel = false) override;
    void verify_lap() override;
    // Of all passes since begin(). Throws Failure where anything is not as they must leave it.
    Verified verify() override;

private:
    GpuStreamArrays arrays_;
    GpuMemory<double> sum_;      // of the GPU
    std::uint64_t passes_ = 0;   // since the sum was nought
    std::uint64_t counted_ = 0;  // passes before that, which were found right

    void warm_memset_up() const;
    void clear_sum();
    void require_sum() const;
    void compare(const std::vector<Arrival>& arrivals) const override;
    [[noreturn]] void fail(const std::string& what) const;
};

}  // namespace nearfar
