// The rounds of nearfar-kernels saxpy over all ranks, its bindings in turn.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kernels/problems/saxpy.h"
#include "kernels/saxpy/saxpy_figures.h"
#include "kernels/saxpy/saxpy_options.h"
#include "mpi/placed_rank.h"

namespace nearfar {

// How far medians may be from sure, relative, before rounds end.
constexpr double saxpy_target = 0.01;

class SaxpyRun {
public:
    // All of one rank; `measured` grows on every rank while run() runs. `moved` is called on every rank with what is done next.
    SaxpyRun(MpiWorld& world, const SaxpyOptions& options, PlacedRank& rank, std::vector<BindingRounds>& measured,
             const Teller* teller, std::function<void(const std::string&)> moved)
        : world_(world), options_(options), rank_(rank), measured_(measured), teller_(teller), moved_(std::move(moved)) {}

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
    const SaxpyOptions& options_;
    PlacedRank& rank_;
    std::vector<BindingRounds>& measured_;
    const Teller* teller_;
    std::function<void(const std::string&)> moved_;

    bool set_up(Placed& placed);
    bool measure_round(Placed& placed);
    RankRound repeat(Placed& placed, Message& trouble);
    std::vector<Message> all_tell(Binding binding, const std::function<Message()>& step);
    bool go_on(int rounds, double begin);
};

}  // namespace nearfar
