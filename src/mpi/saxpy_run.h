// The rounds of nearfar-kernels saxpy over all ranks, its bindings in turn.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kernels/level_one/placed_kernel.h"
#include "kernels/problems/saxpy.h"
#include "kernels/saxpy/saxpy_figures.h"
#include "kernels/saxpy/saxpy_options.h"
#include "mpi/mpi_world.h"
#include "node/node.h"
#include "node/rank_binding.h"

namespace nearfar {

// How far medians may be from sure, relative, before rounds end.
constexpr double saxpy_target = 0.01;

// What has been measured so far, on every rank; grows while run() runs.
struct SaxpyProgress {
    std::vector<BindingRounds> measured;
    std::vector<NotMeasured> skipped;
    std::vector<NotMeasured> failed;
};

class SaxpyRun {
public:
    // All of one rank; `home` is how it was launched. `moved` is called on every rank with what is done next.
    SaxpyRun(MpiWorld& world, const Node& node, const SaxpyOptions& options, const RankHome& home, KernelPlaces& places,
             RankDevice device, SaxpyProgress& progress, std::function<void(const std::string&)> moved);

    // Collective. A binding that one rank cannot have is skipped on all, one that fails on one ends for all.
    void run();

private:
    // This rank under one binding.
    struct Placed {
        Binding binding = Binding::launcher;
        RankPlacement place;
        std::unique_ptr<Saxpy> problem;
        std::unique_ptr<PlacedKernel> kernel;
        std::uint64_t iterations = 0;
    };

    MpiWorld& world_;
    const Node& node_;
    const SaxpyOptions& options_;
    RankHome home_;
    KernelPlaces& places_;
    RankDevice device_;
    SaxpyProgress& progress_;
    std::function<void(const std::string&)> moved_;

    bool set_up(Placed& placed);
    bool measure_round(Placed& placed);
    RankRound repeat(Placed& placed, Message& trouble);
    std::vector<Message> all_tell(Binding binding, const std::function<Message()>& step);
    bool go_on(int rounds, double begin);
};

}  // namespace nearfar
