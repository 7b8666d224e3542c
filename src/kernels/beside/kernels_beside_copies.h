// STREAM by cores and matrix products of GPUs, for windows that copy beside them.
#pragma once

#include <exception>
#include <map>
#include <memory>
#include <vector>

#include "gpu/gpu_device.h"
#include "kernels/beside/gemm_series.h"
#include "kernels/stream/stream_movers.h"
#include "node/node.h"

namespace nearfar {

class KernelsBesideCopies {
public:
    KernelsBesideCopies(const Node& node, const std::vector<GpuDevice>& gpus, StreamMovers& stream)
        : node_(node), gpus_(gpus), stream_(stream) {}

    // Makes the products of these flows ready; GPUs are open. What cannot be had is thrown when its flow is asked for.
    void set_up(const std::vector<Flow>& flows);
    // Such a flow that is the cell's `index`th. Throws why it cannot run.
    MovingFlow of(const Flow& flow, std::size_t index);

private:
    // A GPU's products, or why there are none.
    struct Products {
        std::unique_ptr<GemmSeries> series;
        std::exception_ptr trouble;
    };

    const Node& node_;
    const std::vector<GpuDevice>& gpus_;
    StreamMovers& stream_;
    std::map<int, Products> products_;  // by GPU

    Products make_products(const Flow& flow) const;
};

}  // namespace nearfar
