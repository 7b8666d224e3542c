// A rank that computes on a GPU of its own (or on the cores), one of those of nearfar-kernels.
#pragma once

#include <memory>
#include <string>

#include "kernels/level_one/placed_kernel.h"
#include "mpi/mpi_world.h"
#include "node/rank_binding.h"
#include "supervisor/teller.h"

namespace nearfar {

// What decides where a rank computes.
struct PlacesAsked {
    const std::vector<std::string>& gpus;  // PCI addresses of g0, g1 …
    bool host_device;
    bool even_if_busy;
    bool rate_only;
    bool one_host;
    bool share_cores;    // more ranks than cores are allowed
    std::string anyway;  // the option that allows it; empty: there is none
};

// This rank, on its node.
struct PlacedRank {
    RankHome home;  // as the launcher left it
    Node node;
    std::unique_ptr<KernelPlaces> places;
    RankDevice device;

    // Finds its device; unbinds the thread. Collective; throws WrongUse, Prevented and Failure.
    PlacedRank(MpiWorld& world, const PlacesAsked& asked);

    // Says in `home` who else has a GPU on its NUMA node, and tells rank 0's `teller` (null on the others) of the node and of who is where.
    // Collective.
    void tell(const MpiWorld& world, ProgramRun& run, const Teller* teller);
    // The node again, with all GPUs that ranks have, where more is known of the run. On rank 0.
    void tell_node(const ProgramRun& run, const Teller* teller) const;

private:
    std::vector<DocumentGpu> gpus_;
};

}  // namespace nearfar
