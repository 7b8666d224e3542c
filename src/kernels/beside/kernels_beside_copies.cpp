#include "kernels/beside/kernels_beside_copies.h"

#include <utility>

#include "core/trouble.h"
#include "gpu/route_plan.h"
#include "gpu/windowed.h"

namespace nearfar {

void KernelsBesideCopies::set_up(const std::vector<Flow>& flows) {
    for (const Flow& flow : flows)
        if (products_.count(flow.gpu()) == 0) products_[flow.gpu()] = make_products(flow);
}

KernelsBesideCopies::Products KernelsBesideCopies::make_products(const Flow& flow) const {
    Products made;
    made.trouble = thrown_by([&] {
        const GpuDevice& gpu = driving_gpu(flow, gpus_);
        gpu.require();
        made.series = std::make_unique<GemmSeries>(gpu, driving_cpus(flow, node_, gpus_));
    });
    return made;
}

MovingFlow KernelsBesideCopies::of(const Flow& flow, std::size_t index) {
    if (!flow.is_compute_flow()) return stream_.of(flow, index);
    const Products& products = products_.at(flow.gpu());
    if (products.trouble) std::rethrow_exception(products.trouble);
    GemmSeries& series = *products.series;
    MovingFlow moving;
    moving.known.flow = flow;
    moving.known.unit = "GFLOP/s";
    moving.movers.push_back({{[&series](FlowThread& thread) { move_chunks(series, thread); },
                              static_cast<std::size_t>(series.operations()), index, driving_cpus(flow, node_, gpus_), false},
                             [&series] { series.begin_lap(); },
                             [&series] { return series.verify(); }});
    return moving;
}

}  // namespace nearfar
