// What is queued on a GPU's stream again and again: copies of a route, passes of a kernel.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cell/cell.h"
#include "cell/results.h"
#include "gpu/gpu_device.h"
#include "gpu/gpu_handles.h"
#include "memory/copy_series.h"

namespace nearfar {

class QueuedSeries {
public:
    virtual ~QueuedSeries() = default;

    // The flow as people write it.
    virtual std::string name() const = 0;
    virtual void make_current() const = 0;
    virtual cudaStream_t stream() const = 0;
    // What is queued until the next call is looked at by verify_lap().
    virtual void begin_lap() = 0;
    // Queues so many. `one_kernel`: where it is a kernel that copies, one for all, whose start-up is paid once.
    virtual void queue_copies(int copies, bool one_kernel = false) = 0;
    // Throws Failure where one of the lap was left out.
    virtual void verify_lap() = 0;

protected:
    QueuedSeries() = default;
    QueuedSeries(const QueuedSeries&) = default;
    QueuedSeries& operator=(const QueuedSeries&) = default;
};

// One that another GPU than the one that works, or itself, looks at.
class CheckedSeries : public QueuedSeries {
public:
    const Flow& flow() const { return flow_; }
    const GpuDevice& gpu() const { return *gpu_; }
    std::string name() const override { return flow_.text(); }
    cudaStream_t stream() const override { return stream_.get(); }
    void make_current() const override;
    void begin_lap() override { series_.begin_lap(); }
    // Looks just far enough to see that nothing of the lap was left out. Throws Failure where the destination does not hold what it has to.
    void verify_lap() override;
    // Of everything since the series began. Says what was compared; throws likewise.
    virtual Verified verify();

protected:
    // Leaves `gpu`, which works, current; `checker` looks.
    CheckedSeries(const Flow& flow, const GpuDevice& gpu, const GpuDevice& checker);
    CheckedSeries(CheckedSeries&&) noexcept = default;

    // Throws Failure where something of it is wrong.
    virtual void compare(const std::vector<Arrival>& arrivals) const = 0;
    // What is added on the checker's stream to a count there, which begins at 0.
    unsigned long long counted(const std::function<void(unsigned long long* count, cudaStream_t stream)>& queue) const;
    // Poisons the destination for a new series: `queue` does, on the checker's stream.
    void begin_series(const CopySeries& series, const std::function<void(std::size_t words, cudaStream_t stream)>& queue);

    Flow flow_;
    const GpuDevice* gpu_;
    const GpuDevice* checker_;
    CopySeries series_;

private:
    GpuStream stream_;
    GpuStream check_stream_;
    GpuMemory<unsigned long long> count_;  // of the checker
    std::uint64_t seen_ = 0;               // of the series, lap by lap
};

}  // namespace nearfar
