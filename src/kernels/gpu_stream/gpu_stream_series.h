// Passes of one STREAM kernel by a GPU over one set of arrays, and whether what they left is right.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "gpu/buffers.h"
#include "gpu/checked_series.h"

namespace nearfar {

class GpuStreamSeries : public CheckedSeries {
public:
    // `gpu` computes; `checker`, on whose memory the arrays are or `gpu` itself, fills them and looks at them.
    GpuStreamSeries(const Flow& flow, const Buffer& arrays, const GpuDevice& gpu, const GpuDevice& checker);

    const Buffer& arrays() const { return *arrays_; }
    // What STREAM counts for one pass.
    std::size_t counted_bytes() const;

    // Fills the arrays; poisons the destination, or sets the sum to nought. Before the first pass of a visit. Leaves the GPU current.
    void begin();
    void begin_lap() override;
    void queue_copies(int passes, bool one_kernel = false) override;
    void verify_lap() override;
    // Of all passes since begin(). Throws Failure where anything is not as they must leave it.
    Verified verify() override;

private:
    const Buffer* arrays_;
    double* a_ = nullptr;  // as kernels address them: a and b hold their values and a turn more of them,
    double* b_ = nullptr;
    double* c_ = nullptr;        // c has room for the steps of a series
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
