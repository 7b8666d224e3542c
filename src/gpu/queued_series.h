// What is queued on a GPU's stream again and again: copies of a route, passes of a kernel.
#pragma once

#include <string>

#include "gpu/gpu_runtime.h"

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

}  // namespace nearfar
